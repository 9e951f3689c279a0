"""What all tests share: no deadlines in hypothesis, since a deadline asserts a speed of the machine; clean imports."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings

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
