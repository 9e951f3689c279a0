"""What the commands say of runs that others drive, that ended badly, or that nobody waits for any more."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from skynet.cli.driving import run_cancel_command
from skynet.cli.run import parse_amount
from skynet.cli.run_views import run_list_command, run_show_command
from skynet.errors import SkynetError
from skynet.runs.events import Events
from skynet.runs.fault import StoreError
from skynet.runs.lock import RunDriven, driver_pid
from skynet.runs.session import open_store
from tests.cli.test_driving import eventually, slow_after
from tests.loopback import ModelServer
from tests.runs.cut_runs import ENGINES, Drivers, answer, run_ids, write_loud_project


@pytest.fixture
def server() -> Iterator[ModelServer]:
    model = ModelServer(answer)
    yield model
    model.close()


def left_running(folder: Path) -> str:
    """Store a run whose driver is gone; return its id."""
    with open_store(folder) as store:
        row, lock = store.start_run("words", {"engine": {"name": "gepa"}, "target": {"kind": "chat"}}, {}, {"plan": {}})
        lock.release()
    return row.id


@pytest.mark.parametrize(
    "text",
    ["usd=nan", "usd=inf", "seconds=inf", "usd=1e300", "tokens=-1", "metric_calls=1.5", "calls=1", "usd"],
)
def test_an_amount_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(SkynetError, match="--add-budget takes NAME=AMOUNT"):
        parse_amount(text)


def test_the_json_of_a_run_that_another_process_drives_is_that_run(
    drivers: Drivers, others: Drivers, server: ModelServer, tmp_path: Path
) -> None:
    folder = write_loud_project(tmp_path, server.url, ENGINES["gepa"])
    slow_after(server, 8)
    child = others.start("run", folder)
    eventually(lambda: server.busy > 0 and len(server.requests) > 8)
    (run,) = run_ids(folder)
    refused = drivers.do("runs", "resume", run[:-1], folder, "--json")
    os.kill(child, signal.SIGKILL)
    others.end()
    assert refused.status == 2
    told = json.loads(refused.out)
    assert (told["run"], told["name"], told["status"]) == (run, "words", "running")
    assert "is driven by process" in told["error"]


def test_cancelling_an_interrupted_run_leaves_an_event(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = left_running(tmp_path)
    assert run_cancel_command(tmp_path, run) == 0
    assert f"skynet runs resume {run}" in capsys.readouterr().out
    with open_store(tmp_path) as store:
        row = store.run(run)
        assert (row.status, row.finish_reason) == ("cancelled", "cancelled")
        assert [(event.kind, event.reason) for event in Events(store, row).read()] == [("state", "cancelled")]


def test_an_interrupted_run_that_goes_on_meanwhile_is_not_cancelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from skynet.cli import driving
    from skynet.runs.lock import RunLock

    run = left_running(tmp_path)
    with open_store(tmp_path) as store:
        row = store.run(run)
        assert row.status == "interrupted"
        with RunLock(store.folder, run), pytest.raises(RunDriven):
            driving._cancel_idle(store, row)
        assert not Events(store, row).read()


def test_a_row_that_is_no_json_is_named(tmp_path: Path) -> None:
    run = left_running(tmp_path)
    connection = sqlite3.connect(tmp_path / ".skynet" / "skynet.db")
    with connection:
        connection.execute("UPDATE runs SET state = '{'")
    connection.close()
    with pytest.raises(StoreError, match=f"the row of run {run} is no JSON"):
        run_list_command(tmp_path, as_json=False)


def test_a_clock_that_was_set_back_makes_no_negative_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = left_running(tmp_path)
    with open_store(tmp_path) as store:
        store.update_run(run, status="cancelled", finish_reason="cancelled", ended_at=time.time() - 86_400)
    run_show_command(tmp_path, run, as_json=False)
    assert "took" not in capsys.readouterr().out


def test_submitting_where_skynets_folder_is_a_file_is_refused(drivers: Drivers, tmp_path: Path) -> None:
    folder = write_loud_project(tmp_path, "http://127.0.0.1:1/v1")
    (folder / ".skynet").write_text("mine")
    ended = drivers.do("submit", folder)
    assert ended.status == 2
    assert "no run can be stored in" in ended.err
    assert "Traceback" not in ended.err


def test_ctrl_c_while_submitting_says_where_the_run_is(drivers: Drivers, server: ModelServer, tmp_path: Path) -> None:
    folder = write_loud_project(tmp_path, server.url)
    slow_after(server, 0)
    child = drivers.start("submit", folder)
    eventually(lambda: server.busy > 0)
    (run,) = run_ids(folder)
    os.kill(child, signal.SIGINT)
    ended = drivers.end()
    driver = driver_pid(folder / ".skynet", run)
    assert driver is not None
    os.kill(driver, signal.SIGKILL)
    assert ended.status == 130
    assert ended.out.strip() == run
    assert f"skynet runs cancel {run}" in ended.err


def test_a_submitted_run_whose_process_is_killed_in_the_check_is_told(
    drivers: Drivers, server: ModelServer, tmp_path: Path
) -> None:
    folder = write_loud_project(tmp_path, server.url)
    slow_after(server, 0)
    drivers.start("submit", folder)
    eventually(lambda: server.busy > 0)
    (run,) = run_ids(folder)
    driver = driver_pid(folder / ".skynet", run)
    assert driver is not None
    os.kill(driver, signal.SIGKILL)
    ended = drivers.end()
    assert (ended.status, ended.out) == (1, "")
    assert f"Run {run} is interrupted" in ended.err
    assert f"skynet runs resume {run}" in ended.err
