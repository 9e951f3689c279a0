from __future__ import annotations

import json
import math
import statistics
import sys
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skynet.summary.aggregate import Bin, LabelCount, aggregate, count_labels, mean_of, percentile

finite = st.floats(allow_nan=False, allow_infinity=False)
moderate = st.floats(min_value=-1e6, max_value=1e6)
anything = st.none() | st.floats() | st.booleans()


def test_the_moments_of_a_column() -> None:
    figures = aggregate([1.0, 0.0, 1.0, 0.5])
    assert (figures.count, figures.sum, figures.mean, figures.min, figures.max) == (4, 2.5, 0.625, 0.0, 1.0)
    assert figures.median == 0.75
    assert figures.variance == pytest.approx(0.171875)
    assert figures.sample_variance == pytest.approx(0.6875 / 3)


def test_a_bool_counts_as_one_or_zero() -> None:
    assert aggregate([True, False, True, True]).mean == 0.75


@pytest.mark.parametrize("unmeasured", [None, math.nan, math.inf, -math.inf])
def test_a_value_that_is_no_finite_number_counts_only_as_nan(unmeasured: float | None) -> None:
    figures = aggregate([0.5, unmeasured])
    assert (figures.count, figures.nan_count, figures.mean) == (1, 1, 0.5)


def test_an_output_omitted_everywhere_keeps_a_row_without_figures() -> None:
    figures = aggregate([None, None])
    assert (figures.count, figures.nan_count, figures.mean, figures.sum) == (0, 2, None, None)
    assert set(figures.percentiles.values()) == {None}
    assert figures.histogram == ()


def test_one_value_has_a_population_deviation_and_no_sample_deviation() -> None:
    figures = aggregate([0.3])
    assert (figures.std_dev, figures.sample_std_dev, figures.sample_variance) == (0.0, None, None)


@pytest.mark.parametrize(
    ("percent", "expected"),
    [(10, 1.0), (25, 1.5), (50, 3.0), (70, 4.2), (90, 5.0), (100, 5.0)],
)
def test_a_percentile_interpolates_at_its_rank_and_is_clamped(percent: int, expected: float) -> None:
    assert percentile([1.0, 2.0, 3.0, 4.0, 5.0], percent) == pytest.approx(expected)


def test_the_percentiles_are_named_p10_to_p100() -> None:
    assert list(aggregate([1.0]).percentiles) == ["p10", "p20", "p30", "p40", "p50", "p60", "p70", "p80", "p90", "p100"]


def test_the_last_bar_of_a_histogram_holds_its_upper_bound() -> None:
    bars = aggregate([0.0, 0.05, 0.1, 1.0, 1.0]).histogram
    assert len(bars) == 10
    assert bars[0] == Bin(0.0, 0.1, 2)
    assert bars[-1].count == 2


def test_equal_values_make_one_bar() -> None:
    assert aggregate([0.5, 0.5]).histogram == (Bin(0.5, 0.5, 2),)


def test_a_figure_beyond_the_range_of_a_float_is_none_while_the_mean_stays() -> None:
    figures = aggregate([1.5e308, 1.5e308])
    assert (figures.sum, figures.mean, figures.variance) == (None, 1.5e308, 0.0)
    assert aggregate([-1.5e308, 1.5e308]).std_dev is None


def test_the_mean_of_the_largest_floats_is_within_range() -> None:
    largest = sys.float_info.max
    assert mean_of([largest] * 3) == largest
    assert mean_of([-largest] * 7) == -largest


@given(st.lists(anything))
def test_counts_add_up_and_the_json_is_strict(values: list[float | None]) -> None:
    figures = aggregate(values)
    assert figures.count + figures.nan_count == len(values)
    assert sum(bar.count for bar in figures.histogram) == figures.count
    json.dumps(figures.to_json(), allow_nan=False)


@given(st.lists(finite, min_size=1))
def test_mean_median_and_percentiles_stay_within_the_values(values: list[float]) -> None:
    figures = aggregate(values)
    assert figures.mean is not None
    assert min(values) <= figures.mean <= max(values)
    inside = [figures.median, *figures.percentiles.values()]
    slack = 1e-12 * max(abs(min(values)), abs(max(values)))
    assert all(value is not None and min(values) - slack <= value <= max(values) + slack for value in inside)


@given(st.lists(moderate, min_size=2))
def test_the_deviations_are_those_of_the_standard_library(values: list[float]) -> None:
    figures = aggregate(values)
    assert figures.mean == pytest.approx(statistics.fmean(values))
    assert figures.median == pytest.approx(statistics.median(values))
    assert figures.std_dev == pytest.approx(statistics.pstdev(values), abs=1e-6)
    assert figures.sample_std_dev == pytest.approx(statistics.stdev(values), abs=1e-6)


@given(st.lists(finite, min_size=2))
def test_the_bars_of_a_histogram_join(values: list[float]) -> None:
    bars = aggregate(values).histogram
    assert (bars[0].lower_bound, bars[-1].upper_bound) == (min(values), max(values))
    assert all(left.upper_bound == right.lower_bound for left, right in pairwise(bars))


def test_the_mean_of_equal_values_is_that_value() -> None:
    assert mean_of([0.1] * 3) == 0.1


def test_labels_stand_by_frequency_then_alphabet() -> None:
    found = count_labels(["b", "a", None, "c", "c", ""])
    assert (found.count, found.nan_count, found.mode) == (5, 1, "c")
    assert found.labels == (LabelCount("c", 2), LabelCount("", 1), LabelCount("a", 1), LabelCount("b", 1))


def test_no_label_has_no_mode() -> None:
    assert count_labels([None]).to_json() == {"count": 0, "nan_count": 1, "labels": [], "mode": None}
