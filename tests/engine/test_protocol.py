from __future__ import annotations

import pytest

from skynet.engine import Evaluation, merge
from tests.engines.rules import rules_task


def run(repetition: int, score: float | None, feedback: str = "", **fields: object) -> Evaluation:
    status = "ok" if score is not None else "failed"
    value = 0.0 if score is None else score
    return Evaluation("v", "a", repetition, "val", status, value, score, feedback=feedback, **fields)  # type: ignore


def test_the_repetitions_of_a_case_are_one_evaluation_with_their_means() -> None:
    merged = merge([run(0, 0.25, "low", scores={"a": 1.0}), run(1, 0.75, "high", scores={"a": 0.0, "b": 0.5})])
    assert (merged.repetition, merged.value, merged.score) == (0, 0.5, 0.5)
    assert merged.scores == {"a": 0.5, "b": 0.5}
    assert merged.feedback == "low\nhigh"


def test_the_same_feedback_is_told_once() -> None:
    assert merge([run(number, 1.0, "good") for number in range(3)]).feedback == "good"


def test_one_repetition_is_itself() -> None:
    only = run(0, 0.5, "so so")
    assert merge([only]) is only


def test_a_repetition_that_failed_counts_in_the_value_and_not_in_the_score() -> None:
    merged = merge([run(0, 1.0, "good"), run(1, None, "bad", failure="target")])
    assert (merged.value, merged.score, merged.status, merged.feedback) == (0.5, 1.0, "ok", "good\nbad")


def test_output_trace_and_steps_are_of_one_run_the_first_that_was_measured() -> None:
    runs = [
        run(0, None, failure="target", steps="none"),
        run(1, 0.0, output="x", trace="tx", steps="sx"),
        run(2, 1.0, output="y", trace="ty", steps="sy"),
    ]
    merged = merge(runs)
    assert (merged.output, merged.trace, merged.steps) == ("x", "tx", "sx")


@pytest.mark.parametrize("score", [0.1, 1.0, 1e308, -1e308])
def test_the_mean_of_equal_scores_is_that_score(score: float) -> None:
    assert merge([run(number, score) for number in range(3)]).score == score


@pytest.mark.parametrize(("repeats", "calls", "cases"), [(1, 7, 7), (3, 7, 2), (3, 9, 3), (3, 2, 0), (2, -4, 0)])
def test_a_case_takes_as_many_metric_calls_as_it_has_repetitions(repeats: int, calls: int, cases: int) -> None:
    assert rules_task(repeats=repeats).cases_for(calls) == cases
