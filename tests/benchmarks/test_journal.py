"""How fast the journal is: durable evaluations a second, whether the rate stays flat, and what one takes on disk."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from skynet.runs.journal import Journal
from skynet.runs.store import Store

TOTAL = 20_000
QUARTER = TOTAL // 4
BODY = {"output": "x" * 700, "feedback": "y" * 250, "scores": {"accuracy": 0.5}}


def evaluate(journal: Journal, number: int) -> None:
    key = f"{number:064x}"
    columns: dict[str, Any] = {
        "version": "0123456789ab",
        "case_id": str(number),
        "case_hash": key[:16],
        "repetition": 0,
    }
    journal.begin("evaluation", key, {"metric_calls": 1}, split="val", **columns)
    journal.end("evaluation", key, BODY, status="ok", score=0.5, elapsed_ms=12.5, cost_usd=0.0)


def evaluate_all(journal: Journal, numbers: range) -> None:
    for number in numbers:
        evaluate(journal, number)


def seconds_for(journal: Journal, numbers: range, threads: int) -> float:
    workers = [
        threading.Thread(target=evaluate_all, args=(journal, numbers[first::threads])) for first in range(threads)
    ]
    started = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return time.perf_counter() - started


@pytest.mark.timeout(600)
@pytest.mark.parametrize("threads", [1, 8, 32])
def test_durable_evaluations_a_second_stay_flat_to_20000(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], threads: int
) -> None:
    path = tmp_path / "skynet.db"
    with Store(path) as store:
        run, lock = store.start_run("bench", {}, {})
        journal, cpu = Journal(store, run), time.process_time()
        quarters = [seconds_for(journal, range(start, start + QUARTER), threads) for start in range(0, TOTAL, QUARTER)]
        cpu = time.process_time() - cpu
        lock.release()
    with Store(path) as store:
        started = time.perf_counter()
        assert Journal(store, store.run(run.id)).count("evaluation") == TOTAL
        loading = time.perf_counter() - started
    rates = ", ".join(f"{QUARTER / seconds:,.0f}" for seconds in quarters)
    with capsys.disabled():
        print(
            f"\n{threads} threads: {TOTAL / sum(quarters):,.0f} durable evaluations/s (by quarter: {rates}), "
            f"{cpu / TOTAL * 1e6:.0f} us of processor time each, {path.stat().st_size / TOTAL:,.0f} bytes each, "
            f"loaded in {loading:.2f} s; load of the machine {os.getloadavg()[0]:.1f}"
        )
    # The median quarter against the first: a cost that grew with the run would show at four times its length.
    assert sorted(quarters[1:])[1] < 2 * quarters[0]
