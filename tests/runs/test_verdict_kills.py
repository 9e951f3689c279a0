"""A run that its budget stopped, killed while it makes its verdict: nothing but what was in flight is missing."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.loopback import ModelServer
from tests.runs.cut_runs import (
    HUNGRY,
    Drivers,
    Ended,
    Told,
    answer,
    in_flight,
    run_ids,
    suppress_gone,
    told,
    write_loud_project,
)

BUDGET = 48  # the search would go on: what it leaves is the sealed pass, to the last metric call
CALLS_A_CASE = 2  # of the start and of the best
LATENCY = 0.02  # seconds: a kill shall find requests under way


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    model = ModelServer(answer)
    model.latency = LATENCY
    yield model
    model.close()


@pytest.fixture(scope="module")
def whole(drivers: Drivers, server: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Told:
    folder = project(tmp_path_factory.mktemp("whole"), server)
    ended = drivers.do("run", folder, "--yes", "--json")
    assert (ended.status, ended.json["status"], ended.json["finish_reason"]) == (0, "stopped", "budget_metric_calls")
    found = told(folder, server)
    assert ended.json["changed"]
    return found


def project(folder: Path, server: ModelServer) -> Path:
    server.requests.clear()
    return write_loud_project(folder, server.url, HUNGRY["gepa"], budget=f"metric_calls = {BUDGET}")


def killed(drivers: Drivers, folder: Path, metric_calls: int) -> Ended:
    """Run the project and kill it as soon as its metric was called that often."""
    log = folder / "calls.log"
    child = drivers.start("run", folder, "--yes", "--json")
    deadline = time.monotonic() + 60
    while not log.exists() or len(log.read_text("utf-8").split()) < metric_calls:
        assert time.monotonic() < deadline, "the run never came that far"
        time.sleep(0.001)
    with suppress_gone():
        os.kill(child, signal.SIGKILL)
    return drivers.end()


def on_test(found: Told) -> dict[str, Any]:
    """Return the rows of the verdict by case, without what a clock measured."""
    rows = [row for row in found.report["cases"] if row["split"] == "test"]
    return {row["case"]: [{**row[side], "elapsed_ms": None} for side in ("start", "best")] for row in rows}


@pytest.mark.parametrize("verdict_calls", [1, 4, 7, 10])
def test_a_run_stopped_by_its_budget_that_is_killed_in_its_verdict_covers_what_it_still_can(
    drivers: Drivers, server: ModelServer, tmp_path: Path, whole: Told, verdict_calls: int
) -> None:
    sealed = CALLS_A_CASE * len(on_test(whole))
    folder = project(tmp_path, server)
    ended = killed(drivers, folder, whole.scored.total() - sealed + verdict_calls)
    assert ended.status == -signal.SIGKILL, "it had ended before the kill"
    flying = in_flight(folder)["evaluations"]

    (run,) = run_ids(folder)
    resumed = drivers.do("runs", "resume", run, folder, "--json")
    assert (resumed.status, resumed.json["finish_reason"]) == (0, "budget_metric_calls"), resumed.err
    found = told(folder, server)
    assert found.scored.total() <= resumed.json["metric_calls"] <= BUDGET
    assert found.store["versions"] == whole.store["versions"]
    covered, expected = on_test(found), on_test(whole)
    assert covered == {case: expected[case] for case in covered}
    assert len(covered) >= len(expected) - flying, f"{flying} in flight"
