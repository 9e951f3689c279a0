from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skynet.errors import SkynetError
from skynet.metric.context import Observation
from skynet.metric.contract import Scored, validate
from skynet.metric.reward import reward
from skynet.metric.reward_spec import RewardError
from tests.metric.calls import call

FULL: dict[str, Any] = {
    "weights": {"accuracy": 0.7, "speed": 0.2, "cost": 0.1},
    "accuracy": {},
    "speed": {"reference": 2000},
    "cost": {"reference": 0.01},
}
ACCURACY: dict[str, Any] = {"weights": {"accuracy": 1, "speed": 0, "cost": 0}}
ERROR: dict[str, Any] = {**ACCURACY, "accuracy": {"reference": 2}}
NO_ACCURACY: dict[str, Any] = {
    "weights": {"accuracy": 0, "speed": 1, "cost": 0},
    "speed": {"reference": 100},
}


def test_the_parts_are_weighed_and_reported() -> None:
    with call(observation=Observation(2000.0, 0.03)):
        score, info = reward(FULL, 1.0, "Correct.")
    assert score == pytest.approx(0.7 + 0.2 * 0.5 + 0.1 * 0.25)
    assert info["scores"] == pytest.approx({"accuracy": 1.0, "speed": 0.5, "cost": 0.25})
    assert info["feedback"].splitlines() == [
        "Correct.",
        "Reward 0.825: accuracy 1 (weight 0.7) scores 1; "
        "speed 2000 ms (reference 2000 ms, weight 0.2) scores 0.5; "
        "cost 0.03 USD (reference 0.01 USD, weight 0.1) scores 0.25.",
    ]


@pytest.mark.parametrize(("elapsed", "value"), [(0.0, 1.0), (100.0, 0.5), (300.0, 0.25)])
def test_a_lower_measurement_is_better(elapsed: float, value: float) -> None:
    with call(observation=Observation(elapsed)):
        assert reward(NO_ACCURACY, None, "")[0] == value


@pytest.mark.parametrize(("error", "value"), [(0, 1.0), (2, 0.5), (6, 0.25), (math.inf, 0.0)])
def test_accuracy_with_a_reference_is_an_error(error: float, value: float) -> None:
    score, info = reward(ERROR, error, "")
    assert score == value
    assert "reference 2, weight 1" in info["feedback"]


@pytest.mark.parametrize(
    ("accuracy", "value", "note"), [(1.5, 1.0, "1.5, clamped to 1"), (-2, 0.0, "-2, clamped to 0")]
)
def test_accuracy_outside_zero_to_one_is_clamped_with_a_note(accuracy: float, value: float, note: str) -> None:
    score, info = reward(ACCURACY, accuracy, "")
    assert (score, info["scores"]) == (value, {"accuracy": value})
    assert note in info["feedback"]


@pytest.mark.parametrize("accuracy", [True, 1, 1.0])
def test_accuracy_inside_is_not_noted(accuracy: Any) -> None:
    assert "clamped" not in reward(ACCURACY, accuracy, "")[1]["feedback"]


@pytest.mark.parametrize(
    ("spec", "accuracy", "words"),
    [
        (ACCURACY, math.nan, "accuracy given to reward.. is NaN. It must be a score from 0 to 1"),
        (ACCURACY, math.inf, "accuracy given to reward.. is infinite"),
        (ACCURACY, "1", "accuracy given to reward.. is a string"),
        (ACCURACY, None, "accuracy given to reward.. is not a number: it is None"),
        (ERROR, math.nan, "accuracy given to reward.. is NaN. It must be an error of 0 or more"),
        (ERROR, -1, "accuracy given to reward.. is -1. It must be an error of 0 or more"),
        (ERROR, -math.inf, "accuracy given to reward.. is -inf"),
    ],
)
def test_an_accuracy_that_cannot_be_used_is_refused(spec: dict[str, Any], accuracy: Any, words: str) -> None:
    with pytest.raises(RewardError, match=words):
        reward(spec, accuracy, "")


def test_a_part_that_cannot_be_measured_scores_zero_and_says_so() -> None:
    with call(observation=Observation(2000.0, None)):
        score, info = reward(FULL, 1.0, "Correct.")
    assert score == pytest.approx(0.8)
    assert info["scores"]["cost"] == 0.0
    assert "cost could not be measured (reference 0.01 USD, weight 0.1) scores 0" in info["feedback"]


def test_without_a_target_call_nothing_could_be_measured() -> None:
    with call():
        assert reward(FULL, 1.0, "")[1]["scores"] == {"accuracy": 1.0, "speed": 0.0, "cost": 0.0}


def test_a_part_of_weight_zero_is_neither_measured_nor_reported() -> None:
    with call(observation=Observation(100.0, 1.0)):
        score, info = reward(NO_ACCURACY, math.nan, "Fast.")
    assert (score, info["scores"]) == (0.5, {"speed": 0.5})
    assert "accuracy" not in info["feedback"]
    assert "cost" not in info["feedback"]


def test_without_speed_and_cost_it_works_anywhere() -> None:
    assert reward(ACCURACY, 1, "Correct.")[0] == 1.0


@pytest.mark.parametrize("part", ["speed", "cost"])
def test_with_speed_or_cost_it_needs_a_metric_call(part: str) -> None:
    spec = {**FULL, "weights": {"accuracy": 1, "speed": 0, "cost": 0, part: 1}}
    with pytest.raises(SkynetError, match=rf"no measured {part}.*skynet check"):
        reward(spec, 1, "")
    with call(role="target"), pytest.raises(SkynetError, match=f"no measured {part}"):
        reward(spec, 1, "")


def test_own_scores_stand_beside_the_parts() -> None:
    assert reward(ACCURACY, 1, "", {"format": 0.5})[1]["scores"] == {"format": 0.5, "accuracy": 1.0}


def test_own_scores_may_not_take_a_parts_name() -> None:
    with pytest.raises(RewardError, match=r"hold accuracy, which reward\(\) reports itself"):
        reward(ACCURACY, 1, "", {"accuracy": 0.5})


@pytest.mark.parametrize("scores", [[1.0], 0.5, "format"])
def test_own_scores_must_be_a_dict(scores: Any) -> None:
    with pytest.raises(RewardError, match="must be a dict such as"):
        reward(ACCURACY, 1, "", scores)


@pytest.mark.parametrize("feedback", [None, 3, b"x"])
def test_feedback_must_be_a_string(feedback: Any) -> None:
    with pytest.raises(RewardError, match=r"feedback given to reward\(\) must be a string"):
        reward(ACCURACY, 1, feedback)


def test_a_spec_that_cannot_be_used_is_refused() -> None:
    with pytest.raises(RewardError, match="has no weights"):
        reward({}, 1, "")


_sizes = st.floats(0, 1e300)


@given(_sizes, _sizes, st.floats(-10, 10), st.lists(st.floats(0, 1e300), min_size=3, max_size=3).filter(any))
def test_any_reward_is_a_valid_score_from_zero_to_one(
    elapsed: float, cost: float, accuracy: float, weights: list[float]
) -> None:
    spec = {**FULL, "weights": dict(zip(("accuracy", "speed", "cost"), weights, strict=True))}
    with call(observation=Observation(elapsed, cost)):
        result = validate(reward(spec, accuracy, "Correct."))
    assert isinstance(result, Scored)
    assert 0.0 <= result.score <= 1.0
