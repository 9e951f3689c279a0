from __future__ import annotations

import collections
import enum
import math
import re
import types
import warnings
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skynet.metric.contract import BadReturn, Scored, Unmeasured, declared_range, validate
from skynet.metric.helpers import unmeasured

OK = {"feedback": "OK"}


class Pair(NamedTuple):
    score: float
    side_info: dict[str, Any]


class Verbose(enum.StrEnum):
    CLOSE = "Close."


def _generator() -> Any:
    yield 1.0, OK


async def _async_generator() -> Any:
    yield 1.0, OK


async def _coroutine() -> Any:
    return 1.0, OK


def scored(returned: object) -> Scored:
    result = validate(returned)
    assert isinstance(result, Scored)
    return result


@pytest.mark.parametrize(
    ("returned", "score", "feedback", "scores"),
    [
        ((0.8, {"feedback": "Close. Missing the date."}), 0.8, "Close. Missing the date.", {}),
        ([1.0, {"feedback": "OK", "scores": {"format": 1.0}}], 1.0, "OK", {"format": 1.0}),
        (Pair(0.5, OK), 0.5, "OK", {}),
        ((0.5, collections.OrderedDict(OK)), 0.5, "OK", {}),
        ((0.5, collections.defaultdict(str, OK)), 0.5, "OK", {}),
        ((True, OK), 1.0, "OK", {}),
        ((np.float32(0.5), OK), 0.5, "OK", {}),
        ((Decimal("0.5"), OK), 0.5, "OK", {}),
        ((Fraction(1, 2), OK), 0.5, "OK", {}),
        ((-3, OK), -3.0, "OK", {}),
        ((0.5, {"feedback": "OK", "scores": {}}), 0.5, "OK", {}),
        ((0.5, {"feedback": "OK", "scores": {"a": True, "b": Decimal("0.5")}}), 0.5, "OK", {"a": 1.0, "b": 0.5}),
        ((0.5, {"feedback": np.str_("Close.")}), 0.5, "Close.", {}),
        ((0.5, {"feedback": Verbose.CLOSE}), 0.5, "Close.", {}),
        ((0.5, {"feedback": "\ud800"}), 0.5, "\ud800", {}),
    ],
)
def test_a_valid_return_is_accepted(returned: Any, score: float, feedback: str, scores: dict[str, float]) -> None:
    result = scored(returned)
    assert (result.score, result.feedback, result.scores) == (score, feedback, scores)
    assert (type(result.score), type(result.feedback)) == (float, str)
    assert not result.warnings


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        (0.8, "There is no side info"),
        ((0.8, "Close."), "The side info is not a dict"),
        ((0.8, {}), "There is no feedback string"),
        (("0.8", OK), "The score is a string"),
        ((0.8, {"feedback": "OK", "scores": {"a": "high"}}), "A named score is not a number"),
        (None, "returned None"),
        ("Close.", "returned the text 'Close.'"),
        (OK, "There is no score: `score` returned the side info alone"),
        ((OK, 0.8), "the wrong way round"),
        ((0.8,), "There is no side info. The return value has 1 item, not two"),
        ((), "has 0 items, not two"),
        ([0.8, OK, "more"], "has 3 items, not two"),
        (frozenset([0.8]), "a set, which has no order"),
        (np.array([0.8, 1.0]), "a value of type ndarray"),
        (unmeasured, "without calling it"),
        (Unmeasured, "without calling it"),
        ((unmeasured("no reference"), OK), "Return it alone"),
        ((None, OK), "The score is not a number: it is None"),
        ((b"1", OK), "The score is bytes"),
        ((1 + 0j, OK), "The score is a complex number"),
        ((math.nan, OK), "The score is NaN"),
        ((-math.inf, OK), "The score is infinite"),
        ((10**400, OK), "too large for a float"),
        ((np.array([0.8]), OK), "The score is an array"),
        ((0.8, None), "The side info is not a dict. It is None"),
        ((0.8, types.MappingProxyType(OK)), "The side info is not a dict"),
        ((0.8, {"feedbak": "OK"}), "Did you mean 'feedbak'"),
        ((0.8, {"feedback": None}), "the feedback is None"),
        ((0.8, {"feedback": b"OK"}), "the feedback is b'OK'"),
        ((0.8, {"feedback": ["OK"]}), "the feedback is a list of 1 item"),
        ((0.8, {"feedback": "OK", "scores": None}), '"scores" is not a dict. It is None'),
        ((0.8, {"feedback": "OK", "scores": [1.0]}), '"scores" is not a dict'),
        ((0.8, {"feedback": "OK", "scores": {1: 1.0}}), 'A name in "scores" is not a string. It is 1'),
        ((0.8, {"feedback": "OK", "scores": {"a": math.nan}}), "'a', which is NaN"),
        ((0.8, {"feedback": "OK", "scores": {"a": None}}), "'a', which is not a number: it is None"),
    ],
)
def test_a_return_of_another_shape_is_refused_by_name(returned: Any, words: str) -> None:
    with pytest.raises(BadReturn) as caught:
        validate(returned)
    assert words in str(caught.value)


@pytest.mark.parametrize("returned", [0.8, (0.8, "Close."), (0.8, {}), None, (0.8, {"feedback": 1})])
def test_a_refusal_shows_what_would_be_right(returned: Any) -> None:
    with pytest.raises(BadReturn, match=re.escape('{"feedback": "Close. The date is missing."}')):
        validate(returned)


@pytest.mark.parametrize("make", [_generator, _async_generator])
def test_a_returned_generator_is_refused_as_a_yield(make: Any) -> None:
    with pytest.raises(BadReturn, match="`yield`"):
        validate(make())


def test_a_returned_coroutine_is_refused_and_closed() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(BadReturn, match="nobody awaited"):
            validate(_coroutine())


@pytest.mark.parametrize("feedback", ["", "  \n", "\u2003"])
def test_blank_feedback_is_valid_with_a_warning(feedback: str) -> None:
    assert "blank" in scored((0.5, {"feedback": feedback})).warnings[0]


def test_huge_feedback_is_kept_whole() -> None:
    text = "x" * 10_000_000
    assert scored((0.5, {"feedback": text})).feedback == text


def test_other_side_info_is_kept_without_feedback_and_scores() -> None:
    extra: dict[Any, Any] = {"why": ["a"], 3: None}
    assert scored((0.5, {"feedback": "OK", "scores": {}} | extra)).side_info == extra


def test_unmeasured_passes_as_it_is() -> None:
    assert validate(unmeasured("no reference")) == Unmeasured("no reference")


def test_an_object_that_raises_while_it_is_read_is_a_bad_return() -> None:
    class Hostile(dict[str, Any]):
        def __contains__(self, key: object) -> bool:
            raise ZeroDivisionError

    with pytest.raises(BadReturn, match="ZeroDivisionError was raised while reading it"):
        validate((0.5, Hostile()))


_leaves = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.complex_numbers()
    | st.decimals() | st.fractions() | st.datetimes() | st.just(object()) | st.characters(categories=["Cs"])
)
_anything = st.recursive(
    _leaves,
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner, inner) | st.dictionaries(
        st.sampled_from(["feedback", "scores", "a"]) | st.integers(), inner, max_size=3
    ),
    max_leaves=6,
)
_side_info = st.fixed_dictionaries(
    {"feedback": st.text() | _leaves},
    optional={"scores": st.dictionaries(st.text(), _leaves) | _anything, "more": _leaves},
)


@pytest.mark.parametrize("part", range(4))  # 10,000 in all, in parts that run side by side
@settings(max_examples=2_500, suppress_health_check=list(HealthCheck))
@given(returned=_anything | st.tuples(_leaves, _side_info))
def test_any_return_is_a_checked_score_or_a_bad_return(part: int, returned: Any) -> None:
    try:
        result = validate(returned)
    except BadReturn:
        return
    assert isinstance(result, Scored)
    assert type(result.score) is float
    assert math.isfinite(result.score)
    assert type(result.feedback) is str
    assert all(type(name) is str and math.isfinite(value) for name, value in result.scores.items())


@pytest.mark.parametrize(
    ("declared", "bounds"),
    [
        ([0, 5], (0.0, 5.0)),
        ((0.0, 100.0), (0.0, 100.0)),
        ([5, 0], None),
        ([0, math.inf], None),
        ([0, "5"], None),
        ([0, 1, 2], None),
        ("A1:B2", None),
        (None, None),
    ],
)
def test_a_range_is_a_pair_of_rising_finite_numbers_and_anything_else_a_key_of_the_users_own(
    declared: object, bounds: tuple[float, float] | None
) -> None:
    assert declared_range({"range": declared}) == bounds


@pytest.mark.parametrize(("score", "warned"), [(5, False), (0, False), (7, True), (-0.1, True)])
def test_a_score_outside_its_declared_range_warns(score: float, warned: bool) -> None:
    found = scored((score, {**OK, "range": [0, 5]}))
    assert any("outside the range that it declares, 0 to 5" in text for text in found.warnings) is warned
