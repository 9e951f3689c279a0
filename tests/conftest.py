"""What all tests share: no deadlines in hypothesis, since a deadline asserts a speed of the machine; clean imports;
processes that run commands."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from tests.runs.cut_runs import Drivers

settings.register_profile("skynet", deadline=None)
settings.load_profile("skynet")

_USER_MODULES = ("metric", "run", "program")  # what loading a user's file in this process leaves behind


@pytest.fixture(autouse=True)
def clean_imports() -> Iterator[None]:
    """Put the import path and the names of user files back: workers are given the host's path."""
    path = list(sys.path)
    yield
    sys.path[:] = path
    for name in _USER_MODULES:
        sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def drivers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Drivers]:
    """A warm process that runs commands."""
    from tests.runs.cut_runs import Drivers  # here, since most tests need none of what it imports

    made = Drivers(tmp_path_factory.mktemp("drivers"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Drivers]:
    """A second one, for two commands at a time."""
    from tests.runs.cut_runs import Drivers

    made = Drivers(tmp_path_factory.mktemp("others"))
    yield made
    made.close()
