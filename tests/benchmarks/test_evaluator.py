"""How many evaluations a second the evaluator stores, whether the rate stays flat, what one takes, how fast a resume
serves them again."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from skynet.evaluation.evaluator import task_cases
from tests.benchmarks.fakes import THREADS, Doors, cases, doors

CASES = 500
QUARTER = 10  # versions
VERSIONS = 4 * QUARTER
TOTAL = CASES * VERSIONS
VAL = cases(CASES)


def evaluate(own: Doors, numbers: range) -> float:
    """Put versions forward and evaluate each on val; return the seconds."""
    val = task_cases({case.id: case for case in VAL})
    started = time.perf_counter()
    for number in numbers:
        version = own.evaluator.propose(f"Version {number}", own.start)
        own.evaluator.evaluate(version, val)
    return time.perf_counter() - started


@pytest.mark.timeout(600)
def test_durable_metric_calls_a_second_stay_flat_to_20000_and_a_resume_serves_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "skynet.db"
    with doors(path, [], VAL) as own:
        cpu = time.process_time()
        quarters = [evaluate(own, range(first, first + QUARTER)) for first in range(0, VERSIONS, QUARTER)]
        cpu = time.process_time() - cpu
    size = path.stat().st_size
    started = time.perf_counter()
    with doors(path, [], VAL, run=own.run) as again:
        evaluate(again, range(VERSIONS))  # as the engine's replay does
        assert again.books.journal.count("evaluation") == TOTAL
        resuming = time.perf_counter() - started
    with capsys.disabled():
        print(
            f"\n{THREADS} at a time: {TOTAL / sum(quarters):,.0f} durable metric calls/s (by quarter: "
            f"{', '.join(f'{CASES * QUARTER / seconds:,.0f}' for seconds in quarters)}), "
            f"{cpu / TOTAL * 1e6:.0f} us of processor time each, {size / TOTAL:,.0f} bytes each; "
            f"resumed to the first new call in {resuming:.2f} s; load of the machine {os.getloadavg()[0]:.1f}"
        )
    # The median of the later quarters against the first: a cost that grew with the run would show.
    assert sorted(quarters[1:])[1] < 2 * quarters[0]
    assert resuming < sum(quarters)
