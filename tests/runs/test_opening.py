from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from pathlib import Path

import pytest

from skynet.runs.fault import StoreError
from skynet.runs.store import Store
from tests.runs.processes import output_of, start


def refusal(path: Path) -> StoreError:
    with pytest.raises(StoreError) as caught:
        Store(path)
    assert str(path) in str(caught.value)
    return caught.value


def files(folder: Path) -> dict[str, bytes]:
    return {child.name: child.read_bytes() for child in folder.iterdir()}


def test_a_new_store_is_made_with_its_folder(path: Path) -> None:
    with Store(path) as store:
        assert store.runs() == []
    assert [child.name for child in path.parent.iterdir()] == ["skynet.db"]


def test_a_store_can_be_asked_for_only_where_there_is_one(path: Path) -> None:
    with pytest.raises(StoreError, match=r"there is no store at .*`skynet run` makes one") as caught:
        Store(path, create=False)
    assert caught.value.cause == "missing"
    assert not path.parent.exists()


def test_another_schema_number_is_refused_naming_both(path: Path) -> None:
    Store(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE meta SET value = '999'")
    connection.close()
    before = files(path.parent)
    error = refusal(path)
    assert error.cause == "schema"
    assert "has schema 999, this Skynet reads schema 1" in str(error)
    assert files(path.parent) == before


@pytest.mark.parametrize(
    "script",
    [
        "CREATE TABLE notes (text TEXT)",
        "CREATE TABLE meta (key TEXT, value TEXT)",
        "CREATE TABLE meta (something TEXT)",
        "PRAGMA journal_mode = WAL; CREATE TABLE notes (text TEXT)",
    ],
)
def test_a_database_of_another_program_is_refused_and_untouched(path: Path, script: str) -> None:
    path.parent.mkdir()
    connection = sqlite3.connect(path)
    connection.executescript(script)
    connection.close()
    before = files(path.parent)
    assert refusal(path).cause == "foreign"
    assert files(path.parent) == before


@pytest.mark.parametrize("content", [b"", b"not a database at all\n" * 100, b"SQLite format 3\x00"])
def test_a_file_that_is_no_database_is_refused_and_untouched(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    assert refusal(path).cause == "damaged"
    assert files(path.parent) == {"skynet.db": content}


def test_a_truncated_store_is_refused_and_untouched(path: Path) -> None:
    Store(path).close()
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert refusal(path).cause == "damaged"
    assert files(path.parent) == {"skynet.db": whole[: len(whole) // 2]}


def test_what_a_killed_maker_left_is_cleared_away(path: Path) -> None:
    path.parent.mkdir()
    path.with_name("skynet.db.new").write_bytes(b"half")
    Store(path).close()
    assert [child.name for child in path.parent.iterdir()] == ["skynet.db"]


def test_a_store_that_was_deleted_while_it_was_open_is_not_left_behind_as_an_empty_file(path: Path) -> None:
    with Store(path) as store:
        store.start_run("a", {}, {})[1].release()
        with store.engine.connect():  # the one that is kept is in use, so that the next read opens another
            path.unlink()
            with pytest.raises(StoreError, match=r"was deleted.*Put it back.*start a new run") as caught:
                store.runs()
        assert caught.value.cause == "missing"
        assert not path.exists()
    with Store(path) as made:
        assert made.runs() == []


def test_what_a_deleted_store_left_beside_it_is_no_part_of_the_new_one(path: Path) -> None:
    with Store(path) as old:
        old.start_run("a", {}, {})[1].release()
        path.unlink()
        assert path.with_name("skynet.db-wal").stat().st_size > 0
        with Store(path) as made:
            assert made.runs() == []
            assert intact(path)


def intact(path: Path) -> bool:
    connection = sqlite3.connect(path)
    try:
        return connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    finally:
        connection.close()


@pytest.mark.parametrize("name", ["a b", "50%", "what?", "#1", "ü"])
def test_a_folder_may_have_any_name(path: Path, name: str) -> None:
    with Store(path.parent / name / "skynet.db") as store:
        assert store.runs() == []
    assert [child.name for child in (path.parent / name).iterdir()] == ["skynet.db"]


def test_a_folder_in_place_of_the_file_is_a_clear_error(path: Path) -> None:
    path.mkdir(parents=True)
    assert refusal(path).cause in ("readonly", "damaged")


def test_processes_that_make_one_store_at_once_all_get_it(path: Path) -> None:
    source = "sys.stdin.readline()\nwith Store(path) as store:\n    store.start_run('a', {}, {})\n"
    processes = [start(source, path) for _ in range(4)]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        output_of(process)
    with Store(path) as store:
        assert len(store.runs()) == 4


AS_NOBODY = """
if os.getuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
try:
    if action == 'lock':
        RunLock(path.parent, 'r1')
    else:
        Store(path).start_run('a', {}, {})
except SkynetError as error:
    print(type(error).__name__, getattr(error, 'cause', ''), error)
"""


@pytest.mark.parametrize(("made", "action"), [(True, "open"), (False, "open"), (False, "lock")])
def test_a_folder_that_cannot_be_written_is_a_clear_error(made: bool, action: str) -> None:
    folder = Path(tempfile.mkdtemp())  # not tmp_path: its parents are closed to other users
    try:
        path = folder / "skynet.db"
        if made:
            Store(path).close()
        folder.chmod(0o555)
        out = output_of(start(f"action = {action!r}\n{AS_NOBODY}", path))
        assert out.startswith("StoreError readonly")
        assert str(folder) in out
        assert os.listdir(folder) == (["skynet.db"] if made else [])
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)
