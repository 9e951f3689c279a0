from __future__ import annotations

import os
from pathlib import Path

import pytest

from skynet.typed import CandidateEvidence, EvidenceDescriptor, EvidenceError, LocalFilesystemEvidence
from skynet.typed.filesystem import FilesystemEntry
from tests.typed.conftest import run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with files, a link inside, links out, and a secret beside it."""
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key.txt").write_text("secret")
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (root / "a.txt").write_text("one\n")
    (root / "sub" / "b.txt").write_text("two\n")
    (root / "inside").symlink_to("sub")
    (root / "out_file").symlink_to(tmp_path / "secret" / "key.txt")
    (root / "out_folder").symlink_to("../secret")
    (root / "loop").symlink_to("loop")
    return root


@pytest.mark.parametrize(("path", "text"), [("a.txt", "one\n"), ("sub/b.txt", "two\n"), ("inside/b.txt", "two\n")])
def test_a_file_below_the_folder_is_read(folder: Path, path: str, text: str) -> None:
    assert run(LocalFilesystemEvidence(folder).read_text(path)) == text


@pytest.mark.parametrize(
    "path",
    ["../secret/key.txt", "sub/../../secret/key.txt", "out_file", "out_folder/key.txt", "a\0b", "sub/.."],
)
def test_no_path_and_no_symlink_leads_out(folder: Path, path: str) -> None:
    handle = LocalFilesystemEvidence(folder)
    for read in (handle.read_bytes, handle.read_text, handle.exists):
        with pytest.raises(EvidenceError, match="leads out"):
            run(read(path))


def test_an_absolute_path_leads_out_even_to_a_file_inside(folder: Path) -> None:
    with pytest.raises(EvidenceError, match="leads out"):
        run(LocalFilesystemEvidence(folder).read_text(str(folder / "a.txt")))


def test_a_symlink_put_there_after_the_check_is_not_followed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    handle = LocalFilesystemEvidence(folder)
    checked = handle.path("sub/b.txt")
    (folder / "sub" / "b.txt").unlink()
    (folder / "sub").rmdir()
    (folder / "sub").symlink_to("../secret")
    (folder.parent / "secret" / "b.txt").write_text("secret")
    monkeypatch.setattr(handle, "path", lambda _: checked)
    with pytest.raises(EvidenceError, match="cannot be read"):
        run(handle.read_text("sub/b.txt"))


@pytest.mark.parametrize("path", ["sub", "pipe", "."])
def test_only_a_regular_file_is_read(folder: Path, path: str) -> None:
    os.mkfifo(folder / "pipe")
    with pytest.raises(EvidenceError, match="not a regular file"):
        run(LocalFilesystemEvidence(folder).read_bytes(path))


@pytest.mark.parametrize("path", ["missing.txt", "loop", "a.txt/x"])
def test_a_file_that_is_not_there_is_told(folder: Path, path: str) -> None:
    with pytest.raises(EvidenceError, match="cannot be"):
        run(LocalFilesystemEvidence(folder).read_bytes(path))


def test_listing_leaves_out_what_lies_outside(folder: Path) -> None:
    handle = LocalFilesystemEvidence(folder)
    assert run(handle.list_files()) == ["a.txt", "sub/b.txt"]
    assert run(handle.list_files("out_folder/*")) == []
    assert run(handle.list_files("sub/*.txt")) == ["sub/b.txt"]


@pytest.mark.parametrize("pattern", ["../*", "sub/../../*", "/*"])
def test_a_pattern_cannot_lead_out(folder: Path, pattern: str) -> None:
    with pytest.raises(EvidenceError, match="leads out"):
        run(LocalFilesystemEvidence(folder).list_files(pattern))


def test_a_diff_names_what_was_added_modified_and_deleted(tmp_path: Path) -> None:
    for name, files in {"before": {"x": "1\n", "y": "1\n"}, "after": {"y": "2\n", "z": "1\n"}}.items():
        (tmp_path / name).mkdir()
        for file, text in files.items():
            (tmp_path / name / file).write_text(text)
    before, after = LocalFilesystemEvidence(tmp_path / "before"), LocalFilesystemEvidence(tmp_path / "after")
    found = run(after.diff(before))
    assert found.entries == (
        FilesystemEntry("x", "deleted"), FilesystemEntry("y", "modified"), FilesystemEntry("z", "added")
    )  # fmt: skip
    assert found.changed("added") == ["z"]
    assert run(after.unified_diff(before, "y")).splitlines()[2:] == ["@@ -1 +1 @@", "-1", "+2"]
    assert "+1" in run(after.unified_diff(before, "z"))


def test_evidence_hands_out_the_folder_of_a_descriptor(folder: Path) -> None:
    found = EvidenceDescriptor(kind="filesystem", ref=folder.as_uri())
    evidence = CandidateEvidence(descriptors={"final_state": found})
    assert run(run(evidence.filesystem("final_state")).read_text("a.txt")) == "one\n"


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match="no folder"):
        LocalFilesystemEvidence(tmp_path / "none")
