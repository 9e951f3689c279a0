from __future__ import annotations

from pathlib import Path

import pytest

from skynet.errors import SkynetError
from skynet.evaluation.artifact_files import part_files, read_parts


def folder(root: Path, **files: str) -> Path:
    for name, text in files.items():
        (root / name.replace("__", ".")).write_text(text)
    return root


def test_each_file_is_a_part_named_after_it(tmp_path: Path) -> None:
    folder(tmp_path, system__md="S\n", user__txt="U", __hidden="no")
    assert read_parts(tmp_path, chat=True) == {"system": "S\n", "user": "U"}
    assert part_files(tmp_path)["user"] == tmp_path / "user.txt"


def test_a_chat_has_no_parts_but_its_turns(tmp_path: Path) -> None:
    folder(tmp_path, system__md="S", search_tool__md="T")
    with pytest.raises(SkynetError, match=r"a chat target has no part 'search_tool'.*system, user, assistant.*python"):
        read_parts(tmp_path, chat=True)
    assert set(read_parts(tmp_path, chat=False)) == {"system", "search_tool"}


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    folder(tmp_path, system__md="S", system__txt="T")
    with pytest.raises(SkynetError, match=r"system\.txt: system\.md is the part 'system' already"):
        part_files(tmp_path)


def test_a_folder_among_the_parts_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    with pytest.raises(SkynetError, match="tools: is no file; parts are text files that lie directly in"):
        part_files(tmp_path)


def test_a_folder_without_files_and_a_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SkynetError, match="holds no file"):
        part_files(tmp_path)
    with pytest.raises(SkynetError, match="is a folder with one text file for each part"):
        part_files(folder(tmp_path, prompt__md="x") / "prompt.md")


def test_a_part_that_is_no_text_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "system.md").write_bytes(b"ok\xff")
    with pytest.raises(SkynetError, match=r"system\.md: not UTF-8 text \(byte 2\)"):
        read_parts(tmp_path, chat=False)
