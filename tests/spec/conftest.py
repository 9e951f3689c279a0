"""A project folder with the files that the specs of these tests name."""

from __future__ import annotations

from pathlib import Path

import pytest

from skynet.spec import Spec, load_spec
from tests.spec.texts import Load


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "mé prøject"
    folder.mkdir()
    for name in ("prompt.md", "metric.py", "tickets.csv", "run.py"):
        (folder / name).write_text("x", encoding="utf-8")
    return folder


@pytest.fixture
def load(project: Path) -> Load:
    def write_and_load(text: str) -> Spec:
        (project / "skynet.toml").write_text(text, encoding="utf-8")
        return load_spec(project)

    return write_and_load
