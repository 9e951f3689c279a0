from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from skynet.artifact import Artifact
from skynet.evaluation.amounts import Amounts
from skynet.runs.books import RunBooks
from skynet.runs.export import ExportError, apply_best, own_form, write_artifact, write_text
from skynet.runs.store import Store
from skynet.runs.stored import StoredRun


def stored(store: Store, start: Artifact, best: Artifact, path: str | None) -> StoredRun:
    """Return a stored run that went from `start` to `best`, of an artifact at `path`."""
    spec: dict[str, Any] = {"engine": {"name": "gepa"}, "artifact": {"path": path}}
    row, lock = store.start_run("made", spec, {})
    with lock:
        books = RunBooks(store, row)
        books.add_version(start, None, "", Amounts())
        books.accepted(start.id, 0.0, Amounts())
        books.add_version(best, start.id, "", Amounts())
        books.accepted(best.id, 1.0, Amounts())
    return StoredRun(store, row)


def parts(**texts: str) -> Artifact:
    return Artifact("parts", dict(texts))


def test_a_text_is_its_own_form_and_parts_are_json() -> None:
    assert own_form(Artifact("code", "def run(input): ...\n")) == "def run(input): ...\n"
    assert own_form(parts(system="Überall")) == '{\n  "system": "Überall"\n}\n'


def test_parts_are_written_as_a_folder_with_a_file_for_each(tmp_path: Path) -> None:
    write_artifact(tmp_path / "out", parts(system="One.\n", user="Two.\n"))
    assert {file.name: file.read_text() for file in (tmp_path / "out").iterdir()} == {
        "system.md": "One.\n", "user.md": "Two.\n",
    }  # fmt: skip


def test_parts_keep_the_names_of_the_files_that_they_replace(store: Store, tmp_path: Path) -> None:
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "system.txt").write_text("Old.\n")
    run = stored(store, parts(system="Old.\n"), parts(system="New.\n"), "prompts")
    assert apply_best(run, tmp_path).written
    assert {file.name: file.read_text() for file in (tmp_path / "prompts").iterdir()} == {"system.txt": "New.\n"}
    assert not apply_best(run, tmp_path).written


def test_a_changed_part_is_refused(store: Store, tmp_path: Path) -> None:
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "system.md").write_text("Mine.\n")
    with pytest.raises(ExportError, match="no longer what the run started from"):
        apply_best(stored(store, parts(system="Old.\n"), parts(system="New.\n"), "prompts"), tmp_path)
    assert (tmp_path / "prompts" / "system.md").read_text() == "Mine.\n"


@pytest.mark.parametrize(
    ("kind", "named", "told"),
    [("text", None, r"no \[artifact\] path"), ("dspy", "program.py", "is the program")],
)
def test_what_has_no_file_of_its_own_is_not_applied(
    store: Store, tmp_path: Path, kind: Any, named: str | None, told: str
) -> None:
    contents: tuple[Any, Any] = ({"a": 1}, {"a": 2}) if kind == "dspy" else ("old", "new")
    run = stored(store, Artifact(kind, contents[0]), Artifact(kind, contents[1]), named)
    with pytest.raises(ExportError, match=told):
        apply_best(run, tmp_path)


def test_a_text_that_utf8_cannot_hold_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "prompt.md"
    file.write_text("old")
    with pytest.raises(ExportError, match="cannot write"):
        write_text(file, "a lone surrogate: \ud800")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("prompt.md", "old")]


def test_a_file_keeps_its_permissions(tmp_path: Path) -> None:
    file = tmp_path / "prompt.md"
    file.write_text("old")
    file.chmod(0o600)
    write_text(file, "new")
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"cannot write .*best\.md: there is no folder .*nowhere; make it first"):
        write_text(tmp_path / "nowhere" / "best.md", "text")
