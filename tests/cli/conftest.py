"""Finished runs for the commands that read the store: made once a module, copied for the tests that change them."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from skynet.runs.result import RunResult
from tests.embedded import embedded_model
from tests.made_runs import finished_run

__all__ = ["embedded_model"]


@dataclass(frozen=True)
class Made:
    """A project's folder and the result of the one run in it."""

    folder: Path
    result: RunResult


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A finished run, to be looked at only."""
    folder = tmp_path_factory.mktemp("made") / "upper"
    return Made(folder, finished_run(folder))


@pytest.fixture
def copied(made: Made, tmp_path: Path) -> Made:
    """A finished run that the test may change."""
    return Made(shutil.copytree(made.folder, tmp_path / "upper"), made.result)
