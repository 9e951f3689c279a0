"""The files of the user's code: which they are, and that an edit while a run goes on is never scored with."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from skynet.evaluation.source_files import SourceChanged, SourceFiles, with_neighbours


@pytest.fixture
def metric(tmp_path: Path) -> Path:
    (tmp_path / "metric.py").write_text("import helper\nfrom parts import one\nimport json\n")
    (tmp_path / "helper.py").write_text("import deeper\n")
    (tmp_path / "deeper.py").write_text("LIMIT = 3\n")
    (tmp_path / "alone.py").write_text("")
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "one.py").write_text("")
    return tmp_path / "metric.py"


def test_what_a_file_imports_from_beside_it_belongs_to_it(metric: Path) -> None:
    names = [file.relative_to(metric.parent).as_posix() for file in with_neighbours(metric)]
    assert names == ["deeper.py", "helper.py", "metric.py", "parts/one.py"]


def test_files_that_stay_as_they_are_pass(metric: Path) -> None:
    files = SourceFiles(metric)
    metric.touch()
    (metric.parent / "alone.py").write_text("changed = 1\n")
    files.check()


@pytest.mark.parametrize("name", ["metric.py", "deeper.py", "parts/one.py"])
def test_a_changed_file_is_named(metric: Path, name: str) -> None:
    files = SourceFiles(metric)
    (metric.parent / name).write_text("LIMIT = 4\n")
    with pytest.raises(SourceChanged, match=Path(name).name):
        files.check()


def test_a_file_that_is_gone_is_named(metric: Path) -> None:
    files = SourceFiles(metric)
    (metric.parent / "helper.py").unlink()
    with pytest.raises(SourceChanged, match=r"helper\.py changed"):
        files.check()


def test_a_file_that_was_never_there_is_for_its_loader_to_tell(tmp_path: Path) -> None:
    SourceFiles(tmp_path / "metric.py").check()


def test_a_pipe_in_a_files_place_is_a_change_and_is_not_read(metric: Path) -> None:
    files = SourceFiles(metric)
    metric.unlink()
    os.mkfifo(metric)
    with pytest.raises(SourceChanged, match=r"metric\.py changed"):
        files.check()
