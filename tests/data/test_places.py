"""Which files a data path names, and that a pattern cannot leave its folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from skynet.data import DataError
from skynet.data.places import find_files

FILES = ["d/b.csv", "d/a.jsonl.gz", "d/notes.md", "d/.hidden.csv", "d/sub/c.jsonl", "d/sub/deep/e.jsonl", "d/sub/x.csv"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "outside.csv").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("text", "files", "skipped"),
    [
        ("d/b.csv", ["d/b.csv"], []),
        ("d/no.csv", ["d/no.csv"], []),  # reading it says that it is not there
        ("d", ["d/a.jsonl.gz", "d/b.csv"], ["d/notes.md"]),
        ("d#b.csv", ["d/b.csv"], []),
        ("d#*.csv", ["d/b.csv"], []),
        ("d#sub/**/*.jsonl", ["d/sub/c.jsonl", "d/sub/deep/e.jsonl"], []),
        ("d#**/*", ["d/a.jsonl.gz", "d/b.csv", "d/sub/c.jsonl", "d/sub/deep/e.jsonl", "d/sub/x.csv"], ["d/notes.md"]),
    ],
)
def test_a_path_names_a_file_a_folder_or_files_by_pattern(
    root: Path, text: str, files: list[str], skipped: list[str]
) -> None:
    place = find_files(root, text)
    assert [str(file.relative_to(root)) for file in place.files] == files
    assert [str(file.relative_to(root)) for file in place.skipped] == skipped


def test_a_file_with_the_mark_in_its_name_is_that_file(root: Path) -> None:
    (root / "d#b.csv").touch()
    assert find_files(root, "d#b.csv").files == (root / "d#b.csv",)


@pytest.mark.parametrize("text", ["d#../outside.csv", "d#sub/../../outside.csv", "d#/etc/passwd", "d#..\\outside.csv"])
def test_a_pattern_cannot_leave_the_folder(root: Path, text: str) -> None:
    with pytest.raises(DataError, match=r"stays inside the folder: no \.\. and no absolute path"):
        find_files(root, text)


@pytest.mark.parametrize("text", ["d", "d#link.csv", "d#*.csv", "d#**/*.csv"])
def test_a_link_out_of_the_folder_is_refused(root: Path, text: str) -> None:
    (root / "d/link.csv").symlink_to(root / "outside.csv")
    with pytest.raises(DataError, match="leads out of the folder by a link"):
        find_files(root, text)


def test_a_linked_folder_outside_is_refused(root: Path) -> None:
    (root / "other").mkdir()
    (root / "other/o.csv").touch()
    (root / "d/away").symlink_to(root / "other")
    with pytest.raises(DataError, match="leads out of the folder by a link"):
        find_files(root, "d#away/*.csv")


def test_a_link_inside_the_folder_is_followed(root: Path) -> None:
    (root / "d/same.csv").symlink_to(root / "d/b.csv")
    assert find_files(root, "d#same.csv").files == (root / "d/same.csv",)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("no#*.csv", "there is no folder"),
        ("d#*.parquet", "holds no data file that matches; a data file is a .csv"),
        ("d#*.md", "the 1 files found are of other kinds"),
        ("d#a**b/*", "not a pattern for files"),
    ],
)
def test_a_path_that_names_nothing_says_why(root: Path, text: str, says: str) -> None:
    with pytest.raises(DataError, match=says):
        find_files(root, text)
