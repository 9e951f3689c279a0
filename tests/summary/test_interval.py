from __future__ import annotations

from collections.abc import Callable, Sequence
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skynet.summary import interval
from skynet.summary.interval import batches, bootstrap_interval

differences = st.lists(st.floats(-100, 100).filter(lambda value: value == 0 or abs(value) > 1e-6), min_size=1)

Interval = Callable[[Sequence[float]], tuple[float, float]]


def largest_of(values: Sequence[float]) -> float:
    return max(abs(value) for value in values) or 1.0


def plain_interval(values: Sequence[float]) -> tuple[float, float]:
    drawn = np.random.RandomState(0).randint(0, len(values), (5_000, len(values)))
    low, high = np.percentile(np.array(values)[drawn].mean(axis=1), [2.5, 97.5])
    return float(low), float(high)


def ours(values: Sequence[float]) -> tuple[float, float]:
    return bootstrap_interval(values, largest_of(values))


def coverage(interval_of: Interval, cases: int, win: float, loss: float) -> float:
    """The exact probability that the interval holds the true mean, over every likely count of wins and losses."""
    covered = 0.0
    for wins in range(cases + 1):
        for losses in range(cases - wins + 1):
            ties = cases - wins - losses
            orders = comb(cases, wins) * comb(cases - wins, losses)
            chance = orders * win**wins * loss**losses * (1 - win - loss) ** ties
            if chance < 1e-3:
                continue
            low, high = interval_of([1.0] * wins + [-1.0] * losses + [0.0] * ties)
            covered += chance * (low - 1e-9 <= win - loss <= high + 1e-9)
    return covered


@pytest.mark.parametrize(("cases", "win", "loss"), [(20, 0.05, 0.0), (24, 0.05, 0.0), (24, 0.04, 0.01)])
def test_it_covers_the_truth_where_few_cases_differ_and_the_plain_bootstrap_does_not(
    cases: int, win: float, loss: float
) -> None:
    assert coverage(plain_interval, cases, win, loss) < 0.75
    assert coverage(ours, cases, win, loss) > 0.92


@pytest.mark.parametrize(("win", "loss"), [(0.3, 0.1), (0.8, 0.0)])
def test_it_covers_the_truth_where_many_cases_differ(win: float, loss: float) -> None:
    assert coverage(ours, 24, win, loss) > 0.92


def test_it_closes_in_on_the_usual_interval_with_many_cases() -> None:
    values = list(np.random.RandomState(1).normal(0.3, 1.0, 2_000))
    standard_error = float(np.std(values)) / len(values) ** 0.5
    low, high = ours(values)
    assert low == pytest.approx(np.mean(values) - 1.96 * standard_error, abs=0.1 * standard_error)
    assert high == pytest.approx(np.mean(values) + 1.96 * standard_error, abs=0.1 * standard_error)


@given(differences)
def test_it_contains_the_observed_mean(values: list[float]) -> None:
    low, high = ours(values)
    slack = 1e-9 * largest_of(values)
    assert low - slack <= sum(values) / len(values) <= high + slack


@given(differences, st.integers(0, 5))
def test_negating_the_differences_mirrors_it(values: list[float], seed: int) -> None:
    low, high = bootstrap_interval(values, largest_of(values), seed=seed)
    mirrored = bootstrap_interval([-value for value in values], largest_of(values), seed=seed)
    assert mirrored == pytest.approx((-high, -low), abs=1e-9 * largest_of(values))


@given(differences, st.randoms(use_true_random=False))
def test_the_order_of_the_cases_does_not_matter(values: list[float], random: np.random.RandomState) -> None:
    shuffled = list(values)
    random.shuffle(shuffled)
    assert ours(shuffled) == ours(values)


def test_it_is_the_same_for_the_same_seed() -> None:
    values = [0.13, -0.4, 0.7, 0.0, 0.21, 0.5]
    assert bootstrap_interval(values, 0.7, seed=7) == bootstrap_interval(values, 0.7, seed=7)
    assert bootstrap_interval(values, 0.7, seed=7) != bootstrap_interval(values, 0.7, seed=8)


def test_a_bound_of_zero_is_zero_in_spite_of_rounding() -> None:
    low, _ = bootstrap_interval([0.1, 0.2 - 0.1, 0.3 - 0.2, -0.1, 0.0], 0.1 + 1e-17)
    assert low == 0 or abs(low) > 1e-9


def test_batches_add_up_and_stay_within_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interval, "BATCH_ELEMENTS", 30)
    assert list(batches(7, 10)) == [3, 3, 1]
    assert list(batches(2, 100)) == [1, 1]
