from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skynet.summary.views import MISSING, VIEWS, reduce_view

finite = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    ("view", "value"), [("single", 0.5), ("all", 0.0), ("any", 1.0), ("mean", 0.5), ("weighted_mean", 0.75)]
)
def test_the_value_of_each_view(view: str, value: float) -> None:
    assert reduce_view(view, [0.5, 0.0, 1.0], weights=[None, 0, 1.0]) == value


@pytest.mark.parametrize("absent", [None, math.nan, math.inf])
@pytest.mark.parametrize(("missing", "value"), [("unmeasured", None), ("drop", 1.0), ("zero", 0.25)])
def test_a_signal_without_a_measurement(absent: float | None, missing: Any, value: float | None) -> None:
    assert reduce_view("weighted_mean", [1.0, absent], weights=[1, 3], missing=missing) == value


def test_weights_that_add_up_to_zero_and_no_signals_are_unmeasured() -> None:
    assert reduce_view("weighted_mean", [1.0], weights=[0]) is None
    assert [reduce_view(view, []) for view in VIEWS] == [None] * 5
    assert reduce_view("mean", [None], missing="drop") is None


def test_an_unknown_view_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match="no view 'median'; there are single, all"):
        reduce_view("median", [1.0])


@given(st.sampled_from(VIEWS), st.lists(finite, min_size=1, max_size=5), st.sampled_from(MISSING))
def test_a_view_never_leaves_the_bounds_of_its_signals(view: str, signals: list[float], missing: Any) -> None:
    value = reduce_view(view, signals, missing=missing)
    assert value is not None
    assert min(signals) <= value <= max(signals)
