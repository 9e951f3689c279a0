"""A run that takes over what is still valid of another one, and one that goes on with more than it was planned with."""

from __future__ import annotations

from pathlib import Path

import pytest

from skynet.runs import schema
from skynet.runs.money import Refused
from skynet.runs.session import open_store
from tests.runs.cut_runs import ENGINES, WORDS, write_loud_project
from tests.runs.quick_runs import QuickRuns, scored

NOWHERE = "http://127.0.0.1:1/v1"
SEALED = 2 * len(WORDS)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> QuickRuns:
    return QuickRuns(monkeypatch)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_loud_project(tmp_path, NOWHERE, ENGINES["gepa"])


def change(folder: Path, file: str, old: str, new: str) -> None:
    text = (folder / file).read_text("utf-8")
    assert old in text
    (folder / file).write_text(text.replace(old, new), encoding="utf-8")


def test_a_fork_of_an_unchanged_project_pays_for_the_test_cases_only(quick: QuickRuns, folder: Path) -> None:
    first = quick.run(folder, metric_calls=150)
    forked = quick.run(folder, fork=first.run, metric_calls=150)
    assert (forked.best, forked.difference) == (first.best, first.difference)
    assert scored(folder) == forked.metric_calls == SEALED
    assert set(quick.model.usd) == {"task"}
    assert forked.cost_usd == pytest.approx(quick.model.total, abs=1e-12)


def test_a_fork_with_more_proposals_pays_for_what_is_new(quick: QuickRuns, folder: Path) -> None:
    change(folder, "skynet.toml", "max_proposals = 4", "max_proposals = 2")
    first = quick.run(folder, metric_calls=150)
    change(folder, "skynet.toml", "max_proposals = 2", "max_proposals = 4")
    with pytest.raises(Refused, match=f"engine changed.*--fork {first.run}"):
        quick.resume(folder, first.run, metric_calls=10)
    forked = quick.run(folder, fork=first.run, metric_calls=150)
    alone = quick.run(folder, metric_calls=150)
    assert forked.best == alone.best
    assert len(forked.data["versions"]) == len(alone.data["versions"]) > len(first.data["versions"])
    assert forked.metric_calls < alone.metric_calls


def test_a_fork_with_another_metric_scores_everything_anew(quick: QuickRuns, folder: Path) -> None:
    first = quick.run(folder, metric_calls=150)
    change(folder, "metric.py", "Right.", "Well done.")
    forked = quick.run(folder, fork=first.run, metric_calls=150)
    assert scored(folder) == forked.metric_calls == first.metric_calls


def test_a_fork_of_no_run_is_refused(quick: QuickRuns, folder: Path) -> None:
    quick.run(folder, metric_calls=150)
    with pytest.raises(Exception, match="has no run 'nothing'"):
        quick.run(folder, fork="nothing", metric_calls=150)
    assert scored(folder) == quick.model.requests == 0


def test_what_is_added_goes_on_after_the_plan_and_pays_nothing_again(quick: QuickRuns, folder: Path) -> None:
    first = quick.run(folder, metric_calls=45)
    assert first.finish_reason == "budget_metric_calls"
    before = scored(folder)
    more = quick.resume(folder, first.run, metric_calls=100)
    assert more.finish_reason == "engine_done"
    assert before + scored(folder) == more.metric_calls <= 145
    assert more.cost_usd == pytest.approx((first.cost_usd or 0.0) + quick.model.total, abs=1e-12)
    with open_store(folder, create=False) as store:
        keys = [row["key"] for row in store.rows(first.run, schema.evaluations)]
    assert len(keys) == len(set(keys)) == more.metric_calls
    assert more.best["val"] is not None
    assert first.best["val"] is not None
    assert more.best["val"] > first.best["val"]
