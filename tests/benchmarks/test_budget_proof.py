"""Every call budget from 1 to 300 with every engine: what the metric counts is what the books say, and no more."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runs.cut_runs import HUNGRY, write_loud_project
from tests.runs.quick_runs import QuickRuns, scored
from tests.runs.test_budget_proof import MANY, NOWHERE, SMALLEST

LARGEST = 300


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("engine", HUNGRY)
def test_no_budget_is_overshot(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], engine: str
) -> None:
    quick, used = QuickRuns(monkeypatch), 0
    for budget in range(1, LARGEST + 1):
        folder = write_loud_project(tmp_path / str(budget), NOWHERE, HUNGRY[engine], words=MANY)
        result = quick.run(folder, metric_calls=budget)
        assert scored(folder) == result.metric_calls <= budget
        assert (result.finish_reason == "budget_too_small") == (budget < SMALLEST)
        if budget < SMALLEST:
            assert scored(folder) == quick.model.requests == 0
        used = max(used, result.metric_calls)
    with capsys.disabled():
        print(f"\n{engine}: budgets 1 to {LARGEST}, 0 overshot; the largest use was {used} calls")
