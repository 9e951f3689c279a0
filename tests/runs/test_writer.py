from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from skynet.runs import schema
from skynet.runs.events import Events
from skynet.runs.fault import StoreError
from skynet.runs.journal import Journal
from skynet.runs.store import RunRow, Store
from skynet.runs.writer import Write, compile_statement
from tests.runs.processes import output_of, start


def insert_meta(store: Store, key: str | None) -> Write:
    statement = compile_statement(store.engine, schema.meta.insert(), ("key", "value"))
    return Write(statement, statement.row({"key": key, "value": "v"}))


def keys(store: Store) -> set[str]:
    with store.read() as connection:
        return set(connection.scalars(sa.text("SELECT key FROM meta"))) - {"skynet_schema"}


def test_rows_of_one_submission_are_stored_all_or_none(store: Store) -> None:
    with pytest.raises(StoreError, match="a row could not be stored"):
        store.writer.submit(insert_meta(store, "a"), insert_meta(store, None))
    assert keys(store) == set()


def test_after_a_failed_commit_the_next_one_works(store: Store) -> None:
    with pytest.raises(StoreError):
        store.writer.submit(insert_meta(store, None))
    store.writer.submit(insert_meta(store, "a"))
    assert keys(store) == {"a"}


def test_a_failed_commit_reaches_every_caller_in_it(store: Store, path: Path) -> None:
    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")  # all callers gather behind it, one of them with a row that cannot be stored
    errors: list[StoreError] = []

    def submit(key: str | None) -> None:
        try:
            store.writer.submit(insert_meta(store, key))
        except StoreError as error:
            errors.append(error)

    first = threading.Thread(target=submit, args=("first",))
    first.start()
    rest = [threading.Thread(target=submit, args=(key,)) for key in ("a", "b", None)]
    for thread in rest:
        thread.start()
    while len(store.writer._pending) < 4:
        pass
    blocker.execute("ROLLBACK")
    blocker.close()
    for thread in (first, *rest):
        thread.join()
    assert len({id(error) for error in errors}) == 4
    assert keys(store) == set()


def test_work_of_one_caller_is_rolled_back_when_it_raises_and_the_error_is_its_own(store: Store) -> None:
    def work(connection: sa.Connection) -> None:
        connection.execute(sa.text("INSERT INTO meta VALUES ('a', 'b')"))
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        store.writer.run(work)
    assert keys(store) == set()


def test_a_closed_writer_refuses(store: Store) -> None:
    writer = store.writer
    writer.close()
    writer.close()
    with pytest.raises(StoreError) as caught:
        writer.submit(insert_meta(store, "a"))
    assert caught.value.cause == "closed"


def test_a_lock_that_stays_is_an_error_and_one_that_goes_away_is_not(path: Path) -> None:
    with Store(path, busy_seconds=0.1) as store:
        blocker = sqlite3.connect(path, isolation_level=None)
        blocker.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreError, match="another program keeps it locked") as caught:
            store.writer.submit(insert_meta(store, "a"))
        assert caught.value.cause == "locked"
        blocker.execute("ROLLBACK")
        blocker.close()
        store.writer.submit(insert_meta(store, "a"))
        assert keys(store) == {"a"}


@pytest.mark.parametrize("replaced", [False, True])
def test_a_store_deleted_mid_run_is_given_up(store: Store, path: Path, replaced: bool) -> None:
    store.writer.submit(insert_meta(store, "a"))
    shutil.rmtree(path.parent)
    if replaced:
        Store(path).close()
    for key in ("b", "c"):
        with pytest.raises(StoreError, match="was deleted or replaced") as caught:
            store.writer.submit(insert_meta(store, key))
        assert caught.value.cause == "missing"


def test_closing_stores_what_waits(path: Path) -> None:
    store = Store(path)
    writer = store.writer
    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    threads = [threading.Thread(target=writer.submit, args=(insert_meta(store, str(n)),)) for n in range(8)]
    for thread in threads:
        thread.start()
    while len(writer._pending) < 8:
        pass
    closer = threading.Thread(target=store.close)
    closer.start()
    blocker.execute("ROLLBACK")
    blocker.close()
    for thread in (closer, *threads):
        thread.join()
    with Store(path) as again:
        assert keys(again) == {str(n) for n in range(8)}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if os.getuid() != 0 or not shutil.which("mount") or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("no small file system can be mounted here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill_up(journal: Journal) -> list[str]:
    stored: list[str] = []
    while True:
        journal.begin("model", str(len(stored)), {})
        journal.end("model", str(len(stored)), {"text": "x" * 20_000})
        stored.append(str(len(stored)))


def test_a_full_disk_is_said_nothing_is_lost_and_space_mends_it(small_disk: Path) -> None:
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * 300_000)
    with Store(small_disk / "skynet.db") as store:
        run, lock = store.start_run("a", {}, {})
        journal = Journal(store, run)
        with pytest.raises(StoreError, match="the disk is full") as caught:
            fill_up(journal)
        assert caught.value.cause == "full"
        stored = journal.count("model")
        ballast.unlink()
        journal.begin("model", "after", {})
        journal.end("model", "after", {"text": "y"})
        lock.release()
    with Store(small_disk / "skynet.db") as store:
        again = Journal(store, store.run(run.id))
        assert again.count("model") == stored + 1 > 1
        assert again.get("model", "after") == {"text": "y"}


LIMITED = """
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with Store(path) as store:
    run, lock = store.start_run('a', {}, {})
    journal = Journal(store, run)
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
    done = 0
    try:
        while True:
            journal.begin('model', str(done), {})
            journal.end('model', str(done), {'text': 'x' * 20_000})
            done += 1
    except SkynetError as error:
        print(done, error.cause)
"""


def test_a_write_that_the_system_refuses_is_an_error_and_what_was_handed_out_is_there(path: Path) -> None:
    done, cause = output_of(start(LIMITED, path)).split()
    assert cause in ("io", "full")
    with Store(path) as store:
        journal = Journal(store, store.runs()[0])
        assert journal.count("model") == int(done) > 1


TWO = """
with Store(path) as store:
    run, lock = store.start_run('a', {}, {})
    journal, events = Journal(store, run), Events(store, run)
    def work(thread):
        for number in range(50):
            key = f'{thread}-{number}'
            journal.begin('evaluation', key, {'metric_calls': 1})
            journal.end('evaluation', key, {'key': key}, also=[events.write('evaluated', reason=key)])
    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    print(run.id)
"""


def test_two_processes_write_to_one_store(path: Path) -> None:
    ids = {output_of(process).strip() for process in [start(TWO, path) for _ in range(2)]}
    assert len(ids) == 2
    with Store(path) as store:
        for run in map(store.run, ids):
            assert dict(Journal(store, run).entries("evaluation")) == {
                f"{thread}-{number}": {"key": f"{thread}-{number}"} for thread in range(4) for number in range(50)
            }
            assert [event.seq for event in Events(store, run).read()] == list(range(1, 201))
        with store.read() as connection:
            assert connection.scalar(sa.text("PRAGMA integrity_check")) == "ok"


def test_a_statements_row_has_its_values_in_their_places(store: Store, run: RunRow) -> None:
    table = schema.runs
    update = table.update().where(table.c.id == sa.bindparam("own"))
    statement = compile_statement(store.engine, update, ("status", "name"))
    values = {"own": run.id, "name": "n", "status": "s"}
    assert statement.row(values) == tuple(values[name] for name in statement.order)
    store.writer.submit(Write(statement, statement.row(values)))
    assert (store.run(run.id).name, store.run(run.id).status) == ("n", "s")


def test_what_is_submitted_for_later_is_stored_when_its_callback_is_called(store: Store) -> None:
    heard: list[tuple[BaseException | None, set[str]]] = []
    called = threading.Event()

    def then(error: BaseException | None) -> None:
        heard.append((error, keys(store)))
        called.set()

    store.writer.submit_later(insert_meta(store, "a"), then=then)
    assert called.wait(20)
    assert heard == [(None, {"a"})]


def test_a_failed_commit_is_told_to_the_callback_and_stores_nothing(store: Store) -> None:
    heard: list[BaseException | None] = []
    called = threading.Event()

    def then(error: BaseException | None) -> None:
        heard.append(error)
        called.set()

    store.writer.submit_later(insert_meta(store, "a"), insert_meta(store, None), then=then)
    assert called.wait(20)
    assert [type(error) for error in heard] == [StoreError]
    assert keys(store) == set()


def test_nothing_is_taken_for_later_by_a_closed_writer(store: Store) -> None:
    store.writer.close()
    with pytest.raises(StoreError):
        store.writer.submit_later(insert_meta(store, "a"), then=lambda error: None)
