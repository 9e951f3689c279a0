from __future__ import annotations

import sys
from pathlib import Path

import pytest

from skynet.metric.module import load_module

NAME = "loaded_by_a_test"


def test_a_file_runs_as_the_module_of_the_given_name(tmp_path: Path) -> None:
    path = tmp_path / "run.py"
    path.write_text("NAME, FILE = __name__, __file__")
    module = load_module(str(path), NAME)
    assert module.NAME == NAME
    assert str(path) == module.FILE
    assert sys.modules.pop(NAME) is module


def test_what_the_file_raises_passes_through_and_leaves_no_module(tmp_path: Path) -> None:
    path = tmp_path / "run.py"
    path.write_text("1 / 0")
    with pytest.raises(ZeroDivisionError):
        load_module(path, NAME)
    assert NAME not in sys.modules
