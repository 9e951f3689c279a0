"""The stream tells of the budget: what was held, what ended the search, and what was added to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from skynet.runs.events import Events
from skynet.runs.session import open_store
from tests.runs.cut_runs import HUNGRY, MANY, write_loud_project
from tests.runs.quick_runs import QuickRuns
from tests.runs.test_budget_proof import NOWHERE


def told(folder: Path, run: str) -> list[str]:
    with open_store(folder, create=False) as store:
        return [event.reason or "" for event in Events(store, store.run(run)).read() if event.kind == "budget"]


def test_a_stop_and_a_grant_are_events(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    quick = QuickRuns(monkeypatch)
    folder = write_loud_project(tmp_path, NOWHERE, HUNGRY["gepa"], words=MANY, budget="metric_calls = 60")
    first = quick.run(folder, metric_calls=60)
    assert first.finish_reason == "budget_metric_calls"
    held, spent = told(folder, first.run)
    assert held.startswith("held for the start's val pass and the sealed pass: ")
    assert spent.startswith("the budget [budget] metric_calls is spent")
    quick.resume(folder, first.run, metric_calls=20)
    assert told(folder, first.run)[2] == "raised: metric_calls from 60 to 80"


def test_a_run_that_ends_by_itself_tells_of_no_stop(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    quick = QuickRuns(monkeypatch)
    folder = write_loud_project(tmp_path, NOWHERE, '{ name = "best_of_n", n = 2 }')
    result = quick.run(folder, metric_calls=150)
    assert result.status == "finished"
    assert [reason.split()[0] for reason in told(folder, result.run)] == ["held"]
