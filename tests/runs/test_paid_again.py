"""What a resume says is paid again is what the provider was asked twice."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.loopback import ModelServer
from tests.runs.cut_runs import ENGINES, Drivers, answer, asked, in_flight, run_ids, told, write_loud_project


@pytest.fixture
def server() -> Iterator[ModelServer]:
    model = ModelServer(answer)
    yield model
    model.close()


def counted(text: str, what: str) -> int:
    found = re.search(rf"(\d+) {what}", text)
    return 0 if found is None else int(found.group(1))


def test_a_kill_with_requests_in_flight(drivers: Drivers, server: ModelServer, tmp_path: Path) -> None:
    whole = write_loud_project(tmp_path / "whole", server.url, ENGINES["gepa"])
    assert drivers.do("run", whole).status == 0
    expected = asked(server)
    server.requests.clear()

    def slow(request: dict[str, object]) -> str:
        time.sleep(5.0 if len(server.requests) > 4 else 0.0)
        return answer(request)

    server.reply = slow
    folder = write_loud_project(tmp_path / "killed", server.url, ENGINES["gepa"])
    child = drivers.start("run", folder)
    while server.busy < 2:
        time.sleep(0.01)
    time.sleep(0.2)
    os.kill(child, signal.SIGKILL)
    drivers.end()
    server.reply = answer
    flying = in_flight(folder)
    assert flying["model_calls"] > 1
    (run,) = run_ids(folder)
    ended = drivers.do("runs", "resume", run, folder)
    assert f"{flying.total()} requests were in flight at the stop and will be asked again" in ended.err
    assert "0 paid again" not in ended.err
    (note,) = [note for note in told(folder, server).report["notes"] if note.startswith("Paid again")]
    assert counted(note, "model call") == (asked(server) - expected).total() == flying["model_calls"]
    assert counted(note, "evaluation") == flying["evaluations"]


def test_a_resume_with_nothing_in_flight_pays_nothing_again(
    drivers: Drivers, server: ModelServer, tmp_path: Path
) -> None:
    folder = write_loud_project(tmp_path, server.url, ENGINES["gepa"], budget="metric_calls = 40")
    run = drivers.do("run", folder, "--json").json["run"]
    before = asked(server)
    ended = drivers.do("runs", "resume", run, folder, "--add-budget", "metric_calls=60")
    assert "in flight" not in ended.err
    assert max((asked(server) - before).values()) >= 1
    assert not [note for note in told(folder, server).report["notes"] if note.startswith("Paid again")]
