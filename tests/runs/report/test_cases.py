from __future__ import annotations

from typing import Any

import pytest

from skynet.runs.report.cases import case_rows
from tests.runs.report.samples import case, side


def entry(name: str, start: Any, best: Any, split: str = "test", repetition: int = 0) -> dict[str, Any]:
    return {
        "split": split,
        "case": name,
        "input": {},
        "expected": None,
        "repetition": repetition,
        "start": start,
        "best": best,
    }


def scored(score: float | None, output: str = "x", **more: Any) -> dict[str, Any]:
    return side(score, output, "", **more)


BROKEN = scored(None, status="failed", failure="target")
UNMEASURED = scored(None, status="unmeasured")


@pytest.mark.parametrize(
    ("start", "best", "outcome", "change"),
    [
        (scored(0.0), scored(1.0), "won", 1.0),
        (scored(1.0), scored(0.25), "lost", -0.75),
        (scored(0.1 + 0.2), scored(0.3), "same", 0.0),
        (scored(1.0, "a"), scored(1.0, "b"), "other", 0.0),
        (scored(1.0), UNMEASURED, "open", None),
        (scored(1.0), None, "open", None),
        (BROKEN, scored(1.0), "won", 1.5),
        (BROKEN, BROKEN, "same", 0.0),
        (scored(None, status="failed", failure="metric"), scored(1.0), "open", None),
    ],
)
def test_what_came_of_a_case(start: Any, best: Any, outcome: str, change: float | None) -> None:
    [row] = case_rows({"cases": [entry("1", start, best)], "failure_score": -0.5})
    assert row.outcome == outcome
    assert row.change == (None if change is None else pytest.approx(change))


def test_a_broken_target_is_not_compared_when_the_failure_score_is_unknown() -> None:
    [row] = case_rows({"cases": [entry("1", BROKEN, scored(1.0))]})
    assert row.outcome == "open"


def test_changed_cases_come_first_and_losses_before_wins_of_their_size() -> None:
    cases = [
        entry("same", scored(1.0), scored(1.0)),
        entry("other", scored(1.0, "a"), scored(1.0, "b")),
        entry("open", UNMEASURED, scored(1.0)),
        entry("small", scored(0.5), scored(0.6)),
        entry("won", scored(0.0), scored(1.0)),
        entry("lost", scored(1.0), scored(0.0)),
    ]
    assert [row.case for row in case_rows({"cases": cases})] == ["lost", "won", "small", "open", "other", "same"]


def test_test_cases_come_before_val_cases() -> None:
    rows = case_rows({"cases": [case(1, 0.0, 1.0, "val"), case(2, 1.0, 1.0, "test")]})
    assert [row.split for row in rows] == ["test", "val"]


def test_repetitions_stand_side_by_side_and_are_counted_from_one() -> None:
    cases = [
        entry("a", scored(0.0), scored(1.0), repetition=0),
        entry("b", scored(0.0), scored(1.0), repetition=0),
        entry("a", scored(1.0), scored(1.0), repetition=1),
        entry("b", scored(0.0), scored(1.0), repetition=1),
    ]
    rows = case_rows({"cases": cases})
    assert [(row.case, row.repetition) for row in rows] == [("b", 1), ("b", 2), ("a", 1), ("a", 2)]


def test_without_repeats_no_repetition_is_named() -> None:
    assert case_rows({"cases": [case(1, 0.0, 1.0)]})[0].repetition is None
    assert case_rows({"cases": None}) == []
