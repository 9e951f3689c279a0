"""Small ratios that a change can spoil without any other test failing; `make bench` measures the real sizes."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest

from skynet.evaluation.evaluator import task_cases
from skynet.workers.pool import WorkerPool
from tests.benchmarks.fakes import Doors, cases, doors
from tests.workers.conftest import setup

VAL = cases(40)


def seconds_of(code: str) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - started


def test_importing_skynet_takes_less_than_starting_python_once_more() -> None:
    pairs = [(seconds_of("import skynet"), seconds_of("pass")) for _ in range(7)]
    ours, bare = (statistics.median(column) for column in zip(*pairs, strict=True))
    assert ours < 2 * bare


def test_a_warm_worker_answers_many_calls_in_the_time_that_starting_one_takes() -> None:
    started = time.perf_counter()
    with WorkerPool(setup("echo")) as pool:
        pool.call({"n": 0}, timeout=20)
        cold = time.perf_counter() - started
        warm = []
        for number in range(50):
            started = time.perf_counter()
            pool.call({"n": number}, timeout=20)
            warm.append(time.perf_counter() - started)
    assert 10 * statistics.median(warm) < cold


def evaluate(own: Doors, numbers: range, served: int) -> float:
    """Evaluate new versions, with `served` served evaluations of the start before each; return the median seconds."""
    val = task_cases({case.id: case for case in VAL})
    taken = []
    for number in numbers:
        own.evaluator.evaluate(own.start, val[:served])
        version = own.evaluator.propose(f"Version {number}", own.start)
        started = time.perf_counter()
        own.evaluator.evaluate(version, val)
        taken.append(time.perf_counter() - started)
    return statistics.median(taken)


@pytest.mark.timeout(300)
def test_an_evaluation_late_in_a_run_costs_what_an_early_one_does(tmp_path: Path) -> None:
    with doors(tmp_path / "skynet.db", [], VAL) as own:
        early = evaluate(own, range(20), 4)
        evaluate(own, range(20, 60), 4)
        late = evaluate(own, range(60, 80), 4)
    assert late < 3 * early
