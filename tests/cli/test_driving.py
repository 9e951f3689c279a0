"""Runs in a process of their own: submitted, followed and stopped from another, and what becomes of them."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from skynet.cli.driving import event_line, run_watch_command
from skynet.runs.events import Events
from skynet.runs.lock import driver_pid
from skynet.runs.session import open_store
from tests.loopback import ModelServer
from tests.runs.cut_runs import (
    ENGINES,
    JUDGE,
    ROOT,
    Drivers,
    answer,
    in_flight,
    run_ids,
    suppress_gone,
    told,
    write_loud_project,
)

SLOW = 120.0  # seconds a model takes to answer: nothing here waits for it
IN_TERMINAL = """
import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # stdin is the terminal
os.execv(sys.executable, [sys.executable, "-m", "skynet.cli.main", *sys.argv[1:]])
"""


@pytest.fixture
def server() -> Iterator[ModelServer]:
    model = ModelServer(answer)
    yield model
    model.close()


def slow_after(server: ModelServer, requests: int) -> None:
    """Have the server answer so many requests, and hang from then on."""

    def reply(request: dict[str, object]) -> str:
        if len(server.requests) > requests:
            time.sleep(SLOW)
        return answer(request)

    server.reply = reply


def eventually(found: Callable[[], object], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not found():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)


def status_of(drivers: Drivers, folder: Path, run: str) -> tuple[str, str | None]:
    (row,) = [row for row in json.loads(drivers.do("runs", "list", folder, "--json").out) if row["run"] == run]
    return row["status"], row["finish_reason"]


def test_a_submitted_run_outlives_its_terminal(drivers: Drivers, server: ModelServer, tmp_path: Path) -> None:
    folder = write_loud_project(tmp_path / "project", server.url, ENGINES["gepa"])
    server.latency = 0.02
    ours, terminal = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", IN_TERMINAL, "submit", str(folder)],
        cwd=ROOT, stdin=terminal, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        os.close(terminal)
        out, err = process.communicate(timeout=100)
    assert process.returncode == 0, err
    os.close(ours)  # the terminal is gone, and all that belongs to it gets SIGHUP
    run = out.strip()
    assert run_ids(folder) == [run], "stdout holds the id and nothing else"
    ended = drivers.do("runs", "watch", run, folder)
    assert ended.status == 0, ended.err
    assert ended.out.rstrip().endswith(f"{run}: finished (engine_done)")
    log = folder / ".skynet" / "runs" / f"{run}.log"
    assert "verdict" in log.read_text("utf-8")
    assert "Traceback" not in log.read_text("utf-8")


def test_a_check_that_fails_is_told_and_the_run_has_ended(
    drivers: Drivers, server: ModelServer, tmp_path: Path
) -> None:
    folder = write_loud_project(tmp_path, server.url, metric="def score(input, output, expected=None): return 'good'\n")
    ended = drivers.do("submit", folder)
    assert (ended.status, ended.out) == (1, "")
    assert "FAIL Metric return value" in ended.err
    (run,) = run_ids(folder)
    assert status_of(drivers, folder, run) == ("failed", "check_failed")


def test_submitting_makes_no_call_that_the_run_would_make_again(
    drivers: Drivers, server: ModelServer, tmp_path: Path
) -> None:
    folder = write_loud_project(tmp_path, server.url, ENGINES["demos"])
    run = drivers.do("submit", folder).out.strip()
    assert drivers.do("runs", "watch", run, folder).status == 0
    found = told(folder, server)
    assert found.report["budget"]["metric_calls"]["used"] == found.scored.total()
    assert len(server.requests) == sum(entry["calls"] for entry in found.report["ledger"])


def test_a_run_that_is_refused_at_its_start_says_why(drivers: Drivers, server: ModelServer, tmp_path: Path) -> None:
    folder = write_loud_project(tmp_path, server.url, budget="usd = 1.0", priced=False)
    ended = drivers.do("run", folder, "--detach")
    assert ended.status == 2
    assert "price" in ended.err
    assert ended.out == ""


def test_submitting_a_folder_that_is_not_there_makes_none(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "skynet.cli.main", "submit", str(tmp_path / "nowhere")],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "there is no folder" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_module_in_the_projects_folder_shadows_nothing_of_a_submitted_run(
    drivers: Drivers, server: ModelServer, tmp_path: Path
) -> None:
    folder = write_loud_project(tmp_path, server.url, ENGINES["demos"])
    (folder / "typing.py").write_text("raise RuntimeError('imported')\n", encoding="utf-8")
    ended = drivers.do("submit", folder)
    assert ended.status == 0, ended.err
    assert drivers.do("runs", "watch", ended.out.strip(), folder).status == 0


def test_watch_tells_what_the_store_holds_until_the_run_ends(
    drivers: Drivers, others: Drivers, server: ModelServer, tmp_path: Path
) -> None:
    folder = write_loud_project(tmp_path, server.url, ENGINES["gepa"])
    server.latency = 0.01
    others.start("run", folder)
    eventually(lambda: run_ids(folder))
    (run,) = run_ids(folder)
    watched = drivers.do("runs", "watch", run[:-1], folder)
    assert others.end().status == watched.status == 0
    with open_store(folder, create=False) as store:
        lines = [event_line(event, str) for event in Events(store, store.run(run)).read()]
    assert watched.out.splitlines() == [*lines, f"{run}: finished (engine_done)"]


def test_cancel_stops_a_run_that_waits_for_a_model(
    drivers: Drivers, others: Drivers, server: ModelServer, tmp_path: Path
) -> None:
    folder = write_loud_project(tmp_path, server.url, ENGINES["gepa"])
    slow_after(server, 12)
    others.start("run", folder)
    eventually(lambda: server.busy > 0 and len(server.requests) > 12)
    (run,) = run_ids(folder)
    asked = time.monotonic()
    ended = drivers.do("runs", "cancel", run, folder)
    assert ended.status == 0, ended.err
    assert others.end().status == 130
    print(f"cancelled in {time.monotonic() - asked:.2f} s")
    assert time.monotonic() - asked < SLOW / 4
    assert status_of(drivers, folder, run) == ("cancelled", "cancelled")
    again = drivers.do("runs", "cancel", run, folder)
    assert (again.status, "has ended already" in again.err) == (2, True)


def test_a_metric_call_that_is_cancelled_stays_charged(
    drivers: Drivers, others: Drivers, server: ModelServer, tmp_path: Path
) -> None:
    folder = write_loud_project(tmp_path, server.url, ENGINES["gepa"], budget="metric_calls = 40", metric=JUDGE)
    slow_after(server, 30)
    others.start("run", folder)
    eventually(lambda: len(server.requests) > 33)
    (run,) = run_ids(folder)
    assert drivers.do("runs", "cancel", run, folder).status == 0
    others.end()
    flying = in_flight(folder)
    assert flying["model_calls"] > 0, "requests that were sent may be billed"
    server.reply = answer
    ended = drivers.do("runs", "resume", run, folder)
    assert ended.status == 0, ended.err
    assert f"{flying.total()} requests were in flight" in ended.err
    found = told(folder, server)
    assert found.scored.total() <= found.report["budget"]["metric_calls"]["used"] <= 40


def test_a_run_whose_driver_died_is_interrupted_at_once_and_can_be_cancelled(
    drivers: Drivers, others: Drivers, server: ModelServer, tmp_path: Path
) -> None:
    folder = write_loud_project(tmp_path, server.url, ENGINES["gepa"])
    slow_after(server, 12)
    child = others.start("run", folder)
    eventually(lambda: len(server.requests) > 12)
    (run,) = run_ids(folder)
    assert status_of(drivers, folder, run) == ("running", None)
    os.kill(child, signal.SIGKILL)
    assert others.end().status == -signal.SIGKILL
    assert status_of(drivers, folder, run) == ("interrupted", None)
    watched = drivers.do("runs", "watch", run, folder)
    assert watched.status == 130
    assert watched.out.rstrip().endswith(f"{run}: interrupted")
    assert drivers.do("runs", "cancel", run, folder).status == 0
    assert status_of(drivers, folder, run) == ("cancelled", "cancelled")


def test_two_processes_cannot_drive_one_run(
    drivers: Drivers, others: Drivers, server: ModelServer, tmp_path: Path
) -> None:
    folder = write_loud_project(tmp_path, server.url, ENGINES["gepa"])
    slow_after(server, 12)
    child = others.start("run", folder)
    eventually(lambda: len(server.requests) > 12)
    (run,) = run_ids(folder)
    for command in (("runs", "resume", run, folder), ("runs", "delete", run, folder, "--yes")):
        refused = drivers.do(*command)
        assert refused.status == 2
        assert f"is driven by process {driver_pid(folder / '.skynet', run)}" in refused.err
    with suppress_gone():
        os.kill(child, signal.SIGTERM)
    ended = others.end()
    assert ended.status == 130
    assert f"skynet runs resume {run}" in ended.out
    server.reply = answer
    assert drivers.do("runs", "resume", run, folder).status == 0


def test_watch_shows_no_key_that_a_store_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OUR_MODEL", "value-of-no-known-shape")  # only the spec says that this is a key
    with open_store(tmp_path) as store:
        row, lock = store.start_run("words", {"models": {"task": {"api_key_env": "OUR_MODEL"}, "metric": None}}, {})
        with lock:
            Events(store, row).append("state", reason="x" * 190 + " value-of-no-known-shape")
            store.update_run(row.id, status="failed")
    run_watch_command(tmp_path, row.id)
    out = capsys.readouterr().out
    assert "x [key]" in out
    assert "value" not in out
