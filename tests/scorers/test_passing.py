from __future__ import annotations

from typing import Any

import pytest

from skynet.metric.contract import Unmeasured
from skynet.scorers import ScorerError
from skynet.scorers.passing import passing


def metric_of(value: float, **more: Any) -> Any:
    return lambda input, output: (value, {"feedback": "As it is.", **more})


@pytest.mark.parametrize(
    ("value", "threshold", "negated", "score"),
    [
        (0.5, 0.5, False, 1.0),
        (0.4, 0.5, False, 0.0),
        (0.5, 0.5, True, 0.0),
        (0.4, 0.5, True, 1.0),
        (0.0, 0.0, False, 1.0),
        (-0.1, 0.0, False, 0.0),
        (0.0, 0.0, True, 0.0),
        (0.25, None, True, 0.75),
    ],
)
def test_a_check_passes_at_its_threshold_and_negation_turns_it_round(
    value: float, threshold: float | None, negated: bool, score: float
) -> None:
    found = passing(metric_of(value), threshold, negated=negated)({}, "x")
    assert found[0] == score
    assert found[1]["scores"] == {"measured": value}


def test_a_score_with_a_range_is_mirrored_in_it() -> None:
    score, told = passing(metric_of(30.0, range=[0.0, 100.0]), negated=True)({}, "x")
    assert (score, told["range"]) == (70.0, [0.0, 100.0])


def test_a_score_without_an_opposite_asks_for_a_threshold() -> None:
    with pytest.raises(ScorerError, match=r"the score 7 is outside 0\.\.1; give the check a threshold"):
        passing(metric_of(7.0), negated=True)({}, "x")


def test_the_feedback_says_what_was_asked() -> None:
    _, told = passing(metric_of(0.9), 0.5, negated=True)({}, "x")
    assert told["feedback"] == "It measures 0.9, and under 0.5 is asked. As it is."


def test_an_unmeasured_score_stays_unmeasured() -> None:
    found = passing(lambda input, output: Unmeasured("not today"), 0.0)({}, "x")
    assert found == Unmeasured("not today")


def test_without_threshold_and_negation_the_metric_is_left_alone() -> None:
    metric = metric_of(1.0)
    assert passing(metric) is metric
