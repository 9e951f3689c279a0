"""When the disk or another program fails the store: a clear message, nothing corrupted, and a resume goes on."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from skynet.runs import session
from skynet.runs.session import resume_run, run_project
from skynet.runs.store import Store
from skynet.spec import load_spec
from tests.loopback import ModelServer
from tests.runs.cut_runs import ENGINES, ROOT, Drivers, answer, run_ids, told, write_loud_project
from tests.runs.kill_trials import whole_run

ENGINE = "best_of_n"


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    model = ModelServer(answer)
    yield model
    model.close()


@pytest.fixture(scope="module")
def whole(drivers: Drivers, server: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return whole_run(drivers, server, tmp_path_factory.mktemp("whole"), ENGINE)[0]


def intact(folder: Path) -> bool:
    connection = sqlite3.connect(folder / ".skynet" / "skynet.db")
    try:
        return connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    finally:
        connection.close()


def resumed_as(whole: Any, drivers: Drivers, server: ModelServer, folder: Path) -> None:
    """Resume the folder's run and hold it against the whole one."""
    assert intact(folder)
    (run,) = run_ids(folder)
    ended = drivers.do("runs", "resume", run, folder)
    assert ended.status == 0, ended.err
    found = told(folder, server)
    assert (found.store, found.essence) == (whole.store, whole.essence)


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
from skynet.cli.main import main
sys.argv = ["skynet", "run", sys.argv[2]]
main()
"""


@pytest.mark.parametrize("size", [90_000, 300_000])
def test_a_file_that_may_not_grow_ends_the_run_with_the_cause_and_a_resume_goes_on(
    whole: Any, drivers: Drivers, server: ModelServer, tmp_path: Path, size: int
) -> None:
    server.requests.clear()
    folder = write_loud_project(tmp_path / "project", server.url, ENGINES[ENGINE])
    with Store(folder / ".skynet" / "skynet.db"):
        pass
    ended = subprocess.run(
        [sys.executable, "-c", LIMITED, str(size), str(folder)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ended.returncode in (1, 2), ended.stderr
    assert "Traceback" not in ended.stderr
    assert "disk" in ended.stderr + ended.stdout
    assert intact(folder)
    if run_ids(folder):
        resumed_as(whole, drivers, server, folder)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own, of six megabytes."""
    if os.geteuid() != 0 or sys.platform != "linux":
        pytest.skip("only root on Linux can mount a small disk")
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"this machine lets nobody mount: {mounted.stderr.decode()}")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk_ends_the_run_with_the_cause_and_a_resume_goes_on_when_there_is_room(
    whole: Any, drivers: Drivers, server: ModelServer, small_disk: Path
) -> None:
    server.requests.clear()
    folder = write_loud_project(small_disk / "project", server.url, ENGINES[ENGINE])
    child = drivers.start("run", folder)
    while not run_ids(folder):
        time.sleep(0.01)
    ballast = small_disk / "ballast"
    try:
        with ballast.open("wb", buffering=0) as file:
            while True:
                file.write(b"x" * 4096)
    except OSError:
        pass
    ended = drivers.end()
    assert child
    assert ended.status in (1, 2), ended.err
    assert "the disk is full" in ended.err + ended.out
    ballast.unlink()
    resumed_as(whole, drivers, server, folder)


def test_a_store_locked_by_another_program_ends_the_run_with_the_cause_and_a_resume_goes_on(
    whole: Any, drivers: Drivers, server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.requests.clear()
    folder = write_loud_project(tmp_path, server.url, ENGINES[ENGINE])
    monkeypatch.setattr(
        session, "open_store", lambda root, create=True: Store(root / ".skynet/skynet.db", busy_seconds=0.3)
    )
    blocker: list[sqlite3.Connection] = []

    def lock(stage: Any) -> None:
        if not blocker:
            blocker.append(sqlite3.connect(folder / ".skynet" / "skynet.db", check_same_thread=False))
            blocker[0].execute("BEGIN IMMEDIATE")

    with pytest.raises(Exception, match="another program keeps it locked") as raised:
        run_project(load_spec(folder), hooks=session.Hooks(on_stage=lock))
    assert "skynet runs resume" in str(raised.value)
    blocker[0].rollback()
    blocker[0].close()
    resumed_as(whole, drivers, server, folder)


def test_a_clock_that_jumps_changes_nothing(
    whole: Any, server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.requests.clear()
    folder = write_loud_project(tmp_path, server.url, ENGINES[ENGINE])
    real, jumps = time.time, iter([0.0, 9e7, -9e7, 3.6e3, -3.6e3] * 10_000)
    monkeypatch.setattr(time, "time", lambda: real() + next(jumps))
    result = run_project(load_spec(folder))
    monkeypatch.undo()
    found = told(folder, server)
    assert (found.store, found.essence) == (whole.store, whole.essence)
    assert 0 <= result.data["seconds"] < 3600
    assert resume_run(folder, result.run).to_json() == result.to_json()


def foreign_store(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE songs (title TEXT)")
    connection.close()


def truncated_store(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2 // 4096 * 4096 + 100])


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda path: path.write_bytes(b"This is a letter, and no database.\n" * 40), "damaged or no database"),
        (lambda path: path.write_bytes(b""), "the file is empty"),
        (foreign_store, "another program"),
        (truncated_store, "damaged"),
    ],
    ids=["text", "empty", "foreign", "truncated"],
)
@pytest.mark.parametrize("command", [["run"], ["runs", "resume", "ID"], ["runs", "list"]], ids=" ".join)
def test_a_file_that_is_no_store_of_ours_is_refused_and_left_as_it_is(
    finished: Path, drivers: Drivers, tmp_path: Path, spoil: Any, words: str, command: list[str]
) -> None:
    folder = shutil.copytree(finished, tmp_path / "project")
    path = folder / ".skynet" / "skynet.db"
    (run,) = run_ids(folder)
    spoil(path)
    before = path.read_bytes()
    ended = drivers.do(*(run if word == "ID" else word for word in command), folder)
    assert ended.status == 2, ended.err + ended.out
    assert words in ended.err
    assert str(path) in ended.err
    assert "Traceback" not in ended.err
    assert path.read_bytes() == before


@pytest.fixture(scope="module")
def finished(drivers: Drivers, server: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_loud_project(tmp_path_factory.mktemp("finished"), server.url, ENGINES["demos"])
    assert drivers.do("run", folder).status == 0
    return folder


def test_a_store_that_is_deleted_under_a_run_ends_it_with_the_cause(
    drivers: Drivers, server: ModelServer, tmp_path: Path
) -> None:
    folder = write_loud_project(tmp_path, server.url, ENGINES[ENGINE])
    drivers.start("run", folder)
    while not run_ids(folder):
        time.sleep(0.01)
    (folder / ".skynet" / "skynet.db").unlink()
    ended = drivers.end()
    assert ended.status in (1, 2)
    assert "deleted or replaced" in ended.err + ended.out
    assert "Traceback" not in ended.err
