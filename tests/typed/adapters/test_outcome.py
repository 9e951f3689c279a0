from __future__ import annotations

import math
from typing import Any

import pytest

from skynet.metric.contract import Unmeasured
from skynet.typed import MetricError
from skynet.typed.adapters.outcome import Said, Terms, result_of, settled

PLAIN = Terms()


def info_of(said: Said, terms: Terms = PLAIN) -> dict[str, Any]:
    result = result_of("Tool", said, terms)
    assert not isinstance(result, Unmeasured)
    return result[1]


@pytest.mark.parametrize(
    "said",
    [
        Said(None, "why"), Said(math.nan, "why"), Said(math.inf, "why"), Said(1.0, "why", error="why"),
        Said({"a": math.nan}, "why"),
    ],
)  # fmt: skip
def test_none_nan_infinity_and_an_error_are_unmeasured_with_the_reason(said: Said) -> None:
    result = result_of("Tool", said, PLAIN)
    assert isinstance(result, Unmeasured)
    assert "why" in result.reason


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("C", 1.0),
        ("I", 0.0),
        ("P", 0.5),
        ("N", 0.0),
        (" Yes", 1.0),
        ("fail", 0.0),
        ("0.25", 0.25),
        (True, 1.0),
        (3, 3.0),
    ],
)
def test_labels_texts_and_bools_are_numbers(value: object, number: float) -> None:
    assert PLAIN.number("Tool", value) == number


def test_labels_of_ones_own_are_worth_what_is_said_and_others_are_told() -> None:
    terms = Terms(labels={"Great": 0.9, "C": 0.1})
    assert (terms.number("Tool", "great"), terms.number("Tool", "c")) == (0.9, 0.1)
    with pytest.raises(MetricError, match=r"labels=\{'poor': 1.0\}"):
        terms.number("Tool", "poor")


def test_several_scores_need_primary_and_one_does_not() -> None:
    assert result_of("Tool", Said({"a": "C"}), PLAIN) == (
        1.0, {"feedback": "Tool: the score is 1, without a reason.", "scores": {"a": 1.0}},
    )  # fmt: skip
    with pytest.raises(MetricError, match=r"several scores \('a', 'b'\)"):
        result_of("Tool", Said({"a": 1, "b": 0}), PLAIN)
    assert info_of(Said({"a": 1, "b": 0}), Terms(primary="b"))["scores"] == {"a": 1.0, "b": 0.0}
    with pytest.raises(MetricError, match="primary='c' is no score of Tool"):
        result_of("Tool", Said({"a": 1, "b": 0}), Terms(primary="c"))


def test_primary_may_name_one_of_the_other_numbers() -> None:
    result = result_of("Tool", Said(0.9, scores={"recall": 0.25}), Terms(primary="recall"))
    assert isinstance(result, tuple)
    assert result[0] == 0.25


@pytest.mark.parametrize(
    ("reason", "feedback"), [("Too long.", "Too long."), ({"a": "b", "c": 1}, "a: b\nc: 1"), (["a"], '["a"]')]
)
def test_a_reason_of_any_shape_is_text(reason: Any, feedback: str) -> None:
    assert info_of(Said(1, reason))["feedback"] == feedback


def test_structured_reasons_and_facts_are_kept_without_the_expected_value() -> None:
    said = Said(1, {"answer": "Paris", "note": "says paris"}, facts={"choice": "Paris", "none": None})
    result = settled(result_of("Tool", said, PLAIN), {"city": "Paris"}, PLAIN)
    assert isinstance(result, tuple)
    removed = "[expected value removed]"
    assert result[1] == {
        "feedback": f"answer: {removed}\nnote: says {removed}", "choice": removed, "scores": {},
        "reasoning": {"answer": removed, "note": f"says {removed}"},
    }  # fmt: skip
