"""Every call budget from 1 to 300 with every engine: what the metric counts is what the books say, and no more."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

import pytest

from tests.runs.cut_runs import HUNGRY
from tests.runs.loud_programs import PROGRAM_ENGINES
from tests.runs.quick_runs import QuickRuns, scored
from tests.runs.test_budget_proof import ENDS, SMALLEST, write_hungry

LARGEST = 300
ENGINES = (*HUNGRY, *PROGRAM_ENGINES)


@dataclass
class Sweep:
    """Runs with one engine under many budgets, each of which is held."""

    quick: QuickRuns
    used: int = 0
    ends: Counter[str | None] = field(default_factory=Counter)
    began: float = field(default_factory=monotonic)

    def run(self, folder: Path, budgets: Iterable[int]) -> None:
        for budget in budgets:
            shutil.rmtree(folder / ".skynet", ignore_errors=True)
            result = self.quick.run(folder, metric_calls=budget)
            assert scored(folder) == result.metric_calls <= budget
            assert (result.finish_reason == "budget_too_small") == (budget < SMALLEST)
            if budget < SMALLEST:
                assert scored(folder) == self.quick.model.requests == 0
            else:
                assert result.finish_reason in ENDS, f"{budget}: {result.finish_reason}: {result.message}"
                assert result.best["test"] is not None
            self.used = max(self.used, result.metric_calls)
            self.ends[result.finish_reason] += 1

    def __str__(self) -> str:
        ends = ", ".join(f"{count} {reason}" for reason, count in self.ends.most_common())
        return (
            f"{self.ends.total()} budgets up to {LARGEST}, 0 overshot; the largest use was {self.used} calls; "
            f"{ends}; {monotonic() - self.began:.0f} s"
        )


@pytest.fixture
def sweep(monkeypatch: pytest.MonkeyPatch) -> Sweep:
    return Sweep(QuickRuns(monkeypatch))


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("engine", ENGINES)
def test_no_budget_is_overshot(sweep: Sweep, tmp_path: Path, capsys: pytest.CaptureFixture[str], engine: str) -> None:
    sweep.run(write_hungry(tmp_path / "project", engine), range(1, LARGEST + 1))
    with capsys.disabled():
        print(f"\n{engine}: {sweep}")


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("engine", ENGINES)
def test_no_budget_is_overshot_by_an_engine_that_plans_for_more_than_there_is(
    sweep: Sweep, tmp_path: Path, capsys: pytest.CaptureFixture[str], engine: str
) -> None:
    """Each budget with one of the engines, in turn."""
    sweep.quick.blindfold()
    budgets = range(1 + ENGINES.index(engine), LARGEST + 1, len(ENGINES))
    sweep.run(write_hungry(tmp_path / "project", engine), budgets)
    with capsys.disabled():
        print(f"\n{engine}, blindfolded: {sweep}")
