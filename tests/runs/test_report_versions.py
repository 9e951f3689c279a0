from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skynet.engine import Models, SearchEvaluator, SearchTask, Version

from .plans import drive, plan, rows, write_plans
from .scripted import Scripted, scripted

__all__ = ["scripted"]

START = plan("start", 0.5)
Searched = Callable[[SearchTask, SearchEvaluator], Any]
Versions = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def versions(tmp_path: Path, scripted: type[Scripted]) -> Versions:
    """Run a search on a project and return the report's versions."""

    def run(search: Searched, start: str = START, **options: Any) -> list[dict[str, Any]]:
        def script(task: SearchTask, evaluator: SearchEvaluator, models: Models) -> None:
            search(task, evaluator)

        scripted.script = script
        found: list[dict[str, Any]] = drive(write_plans(tmp_path, start, **options)).data["versions"]
        return found

    return run


def on_val(*texts: str) -> Searched:
    """Put texts forward, each tried on all of val."""

    def search(task: SearchTask, evaluator: SearchEvaluator) -> None:
        for text in texts:
            evaluator.evaluate(evaluator.propose(text, task.start), task.val)

    return search


def reasons(found: list[dict[str, Any]]) -> list[str | None]:
    return [version["reason"] for version in found]


def test_a_version_that_was_measured_on_too_little_says_that_it_cannot_win(versions: Versions) -> None:
    found = versions(on_val(plan("lucky", 1.0, val1="unmeasured", val2="metric raises")))
    assert (found[1]["status"], found[1]["val"]) == ("candidate", 1.0)
    assert found[1]["coverage"] == {
        "total": 3, "tried": 3, "measured": 1, "unmeasured": 1, "target_failures": 0, "metric_failures": 1,
        "provider_failures": 0,
    }  # fmt: skip
    assert found[1]["reason"] == "measured on 1 of 3 val cases, cannot win against v0, measured on 3"


def test_a_version_that_equals_the_best_on_val_came_later(versions: Versions) -> None:
    found = versions(on_val(plan("first", 0.75), plan("second", 0.75)))
    assert reasons(found) == [None, None, "no better than v1, which came first"]


def test_a_version_under_the_best_on_val_needs_no_reason(versions: Versions) -> None:
    assert reasons(versions(on_val(plan("worse", 0.25)))) == [None, None]


def test_a_version_that_lost_where_both_were_measured_says_so(versions: Versions) -> None:
    tests = rows(val=24)
    start = plan("start", 0.5, val0=0.0)
    found = versions(on_val(plan("odd", 0.51, val0="unmeasured", val1=0.2)), start, data=tests)
    assert found[1]["val"] > found[0]["val"]
    assert found[1]["reason"] == "not better than v0 on the val cases that both measured"


def test_a_version_that_was_dropped_after_train_cases_is_held_against_its_parent(versions: Versions) -> None:
    def search(task: SearchTask, evaluator: SearchEvaluator) -> None:
        evaluator.evaluate(task.start, task.train)
        for name, score in (("worse", 0.25), ("better", 0.75), ("broken", "metric raises"), ("mute", "unmeasured")):
            evaluator.evaluate(evaluator.propose(plan(name, score), task.start), task.train)

    assert reasons(versions(search))[1:] == [
        "evaluated on 2 train cases only, not better than v0 there (0.25, 0.5)",
        "evaluated on 2 train cases only, scored 0.75 there (v0: 0.5)",
        "evaluated on 2 train cases only, the metric failed on 2, not better than v0 there (0, 0.5)",
        "evaluated on 2 train cases only, unmeasured on 2",
    ]


def test_how_far_a_version_came_on_val_is_told(versions: Versions) -> None:
    def search(task: SearchTask, evaluator: SearchEvaluator) -> None:
        evaluator.evaluate(evaluator.propose(plan("part", 0.75), task.start), task.val[:1])
        evaluator.propose(plan("never"), task.start)

    part, never = versions(search)[1:]
    assert part["reason"] == "evaluated on 1 val case only, scored 0.75 there (v0: 0.5)"
    assert (part["coverage"]["tried"], part["coverage"]["total"], part["val"]) == (1, 3, None)
    assert (never["reason"], never["coverage"]["measured"], never["val_at_call"]) == ("never evaluated", 0, None)


def test_the_rejected_version_names_test_as_the_reason(versions: Versions) -> None:
    lucky = versions(on_val(plan("lucky", 0.75, test0=0.0, test1=0.0, test2=0.0)))[1]
    assert (lucky["status"], lucky["reason"]) == ("rejected", "the best on val, but below the start on test")


def test_a_mean_is_known_when_the_last_val_case_was_scored_and_where_the_curve_steps(
    tmp_path: Path, scripted: type[Scripted]
) -> None:
    known: dict[str, int] = {}

    def script(task: SearchTask, evaluator: SearchEvaluator, models: Models) -> None:
        proposed: list[Version] = [evaluator.propose(plan(name, score), task.start) for name, score in SCORES.items()]
        for version in proposed:
            evaluator.evaluate(version, task.train)
            evaluator.evaluate(version, task.val)
            known[version.id] = 100 - evaluator.remaining

    scripted.script = script
    data = drive(write_plans(tmp_path, START)).data
    [(start, worse, better), steps] = data["versions"], data["curve"]
    assert worse["at_call"] == better["at_call"] == start["val_at_call"]
    assert worse["val_at_call"] == better["val_at_call"] - 5  # two train and three val cases each
    assert [(step["version"], step["metric_calls"]) for step in steps] == [
        (start["id"], start["val_at_call"]), (better["id"], better["val_at_call"]),
    ]  # fmt: skip


SCORES = {"worse": 0.25, "better": 0.75}
