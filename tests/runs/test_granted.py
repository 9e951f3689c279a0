"""What a run may spend when it goes on: a limit can be raised in the spec or added to, and nothing else."""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from skynet.runs.granted import Granted, granted_by
from skynet.runs.money import Refused
from skynet.runs.session import Hooks, open_store, resume_run
from tests.runs.cut_runs import HUNGRY, MANY, write_loud_project
from tests.runs.plans import spec_of
from tests.runs.quick_runs import QuickRuns, scored
from tests.runs.test_fork import NOWHERE, change

BEFORE = "metric_calls = 60\nusd = 1.0\nusd_by_role = { task = 0.5 }"


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> QuickRuns:
    return QuickRuns(monkeypatch)


def project(folder: Path, budget: str) -> Path:
    return write_loud_project(folder, NOWHERE, HUNGRY["gepa"], words=MANY, budget=budget)


def granted(folder: Path, budget: str) -> Granted:
    return Granted(granted_by(spec_of(project(folder, budget))), {})


@pytest.mark.parametrize(
    ("budget", "told"),
    [
        ("metric_calls = 50\nusd = 1.0\nusd_by_role = { task = 0.5 }", "metric_calls = 50 is lower than before"),
        ("metric_calls = 60\nusd = 0.9\nusd_by_role = { task = 0.5 }", "usd = 0.9 is lower than before"),
        ("metric_calls = 60\nusd = 1.0\nusd_by_role = { task = 0.4 }", "usd_by_role.task = 0.4 is lower"),
        ("metric_calls = 60\nusd_by_role = { task = 0.5 }", "usd is gone"),
        ("metric_calls = 60\nusd = 1.0", "usd_by_role.task is gone"),
        (f"{BEFORE}\ntokens = 9", "tokens = 9 is new"),
        (f"{BEFORE}\nseconds = 9.5", "seconds = 9.5 is new"),
        (BEFORE.replace("0.5", "0.5, metric = 0.1"), "usd_by_role.metric = 0.1 is new"),
    ],
)
def test_a_limit_that_is_not_raised_is_refused_and_named(tmp_path: Path, budget: str, told: str) -> None:
    before = granted(tmp_path, BEFORE)
    with pytest.raises(Refused, match=re.escape(f"[budget] {told}")):
        before.now(spec_of(project(tmp_path, budget)), {})


def test_what_the_spec_raises_and_what_is_added_count_together(tmp_path: Path) -> None:
    first = granted(tmp_path, BEFORE).now(spec_of(tmp_path), {"metric_calls": 40})
    stored = Granted.from_json(json.loads(json.dumps(first.to_json())))
    assert not stored.raised_in(spec_of(tmp_path))
    spec = spec_of(project(tmp_path, BEFORE.replace("60", "80").replace("0.5", "0.75")))
    assert stored.raised_in(spec)
    now = stored.now(spec, {"metric_calls": 1, "usd": 0.5})
    assert now.limits() == {"metric_calls": 121, "usd": 1.5, "tokens": None, "seconds": None}
    assert now.by_spec["usd_by_role.task"] == 0.75


@pytest.mark.parametrize(
    "more",
    [
        {"usd": float("nan")}, {"usd": float("inf")}, {"usd": 1e300}, {"usd": -1.0}, {"usd": 0}, {"seconds": 1e13},
        {"metric_calls": 1.5}, {"calls": 1}, {"tokens": 10**20},
    ],
    ids=str,
)  # fmt: skip
def test_an_amount_that_cannot_be_added_leaves_the_run_as_it_was(
    quick: QuickRuns, tmp_path: Path, more: dict[str, Any]
) -> None:
    folder = project(tmp_path, BEFORE)
    run = quick.run(folder, metric_calls=50, usd=1.0).run
    before = row_of(folder)
    with pytest.raises(Refused, match="cannot be added to a budget"):
        quick.resume(folder, run, **more)
    assert row_of(folder) == before


def row_of(folder: Path) -> list[Any]:
    connection = sqlite3.connect(folder / ".skynet" / "skynet.db")
    try:
        return connection.execute("SELECT * FROM runs").fetchall()
    finally:
        connection.close()


def test_nothing_can_be_added_to_what_has_no_limit(quick: QuickRuns, tmp_path: Path) -> None:
    folder = project(tmp_path, "metric_calls = 50")
    run = quick.run(folder, metric_calls=50).run
    with pytest.raises(Refused, match="tokens has no limit in this run"):
        quick.resume(folder, run, tokens=5)


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ("metric_calls = 50", "metric_calls = 90", "metric_calls"),
        ("usd_by_role = { reflection = 0.004 }\nusd = 1.0", "usd_by_role = { reflection = 0.02 }\nusd = 1.0", "usd"),
    ],
)
def test_a_stopped_run_goes_on_when_its_spec_grants_more(
    quick: QuickRuns, tmp_path: Path, before: str, after: str, kind: str
) -> None:
    folder = project(tmp_path, before)
    quick.clear(folder)
    first = quick.run_as_written(folder)
    assert first.finish_reason == f"budget_{kind}"
    paid = scored(folder)
    assert resume_run(folder, first.run).metric_calls == first.metric_calls == paid  # nothing more is granted
    change(folder, "skynet.toml", before, after)
    more = resume_run(folder, first.run)
    assert more.metric_calls == scored(folder) > paid
    with open_store(folder, create=False) as store:
        assert store.run(first.run).state["plan"]["metric_calls"] == (50 if kind == "metric_calls" else None)


def test_what_was_raised_is_told_of_a_role_too(tmp_path: Path) -> None:
    before = granted(tmp_path, BEFORE)
    now = before.now(spec_of(project(tmp_path, BEFORE.replace("0.5", "0.75"))), {})
    assert now.raised_from(before) == "raised: usd_by_role.task from 0.5 to 0.75"
    assert now.raised_from(now) == ""


def test_a_dollar_budget_whose_price_is_gone_is_refused_unless_accepted(quick: QuickRuns, tmp_path: Path) -> None:
    folder = project(tmp_path, "metric_calls = 50\nusd = 1.0")
    first = quick.run_as_written(folder)
    run, paid = first.run, first.metric_calls
    change(folder, "skynet.toml", ", price = { input = 1.0, output = 3.0 }", "")
    with pytest.raises(Refused, match="the task model 'task' has no price"):
        resume_run(folder, run, add_budget={"metric_calls": 40})
    assert resume_run(folder, run, add_budget={"metric_calls": 40}, accept=True).metric_calls > paid
    again = resume_run(folder, run, add_budget={"metric_calls": 40})  # what was accepted once is asked no more
    assert again.cost_usd is None


def test_a_run_that_was_started_without_a_price_goes_on_without(quick: QuickRuns, tmp_path: Path) -> None:
    folder = write_loud_project(
        tmp_path, NOWHERE, HUNGRY["gepa"], words=MANY, budget="metric_calls = 50\nusd = 1.0", priced=False
    )
    first = quick.run_as_written(folder)
    assert resume_run(folder, first.run, add_budget={"metric_calls": 40}).metric_calls > first.metric_calls


def test_a_stopped_run_whose_spec_cannot_be_read_is_shown_and_the_reason_is_told(
    quick: QuickRuns, tmp_path: Path
) -> None:
    folder = project(tmp_path, "metric_calls = 50")
    stopped = quick.run_as_written(folder)
    assert stopped.status == "stopped"
    (folder / "skynet.toml").write_text("name = words")
    told: list[str] = []
    again = resume_run(folder, stopped.run, hooks=Hooks(on_notice=told.append))
    assert (again.run, again.status, again.best) == (stopped.run, stopped.status, stopped.best)
    assert len(told) == 1
    assert told[0].startswith("Whether its budget was raised since it stopped cannot be told: ")
    assert "skynet.toml" in told[0]
