from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skynet.summary.permutation import EXACT_UP_TO, RANDOM_FLIPS, sign_flip_p

halves = st.integers(-8, 8).map(lambda number: number / 2)  # sums of halves are exact
differences = st.floats(-100, 100)


def brute_force(values: list[float]) -> float:
    observed = abs(sum(values))
    patterns = list(product([1, -1], repeat=len(values)))
    as_far = [abs(sum(sign * value for sign, value in zip(pattern, values, strict=True))) >= observed
              for pattern in patterns]  # fmt: skip
    return sum(as_far) / len(patterns)


@given(st.lists(halves, max_size=9))
def test_the_exact_p_is_the_brute_force_count(values: list[float]) -> None:
    assert sign_flip_p(values) == brute_force(values)


@pytest.mark.parametrize(
    ("values", "p"),
    [([], 1.0), ([0.0, 0.0], 1.0), ([0.3], 1.0), ([1.0] * 5, 2 / 32), ([1.0] * 6, 2 / 64), ([1.0] * 16, 2 / 65536)],
)
def test_known_values(values: list[float], p: float) -> None:
    assert sign_flip_p(values) == p


def test_sums_that_are_equal_on_paper_count_as_equal() -> None:
    assert sign_flip_p([0.1, 0.2, -0.3]) == brute_force([1, 2, -3]) == 1.0
    assert sign_flip_p([0.1, 0.2, 0.3]) == brute_force([1, 2, 3])


def test_beyond_sixteen_differing_cases_p_never_reaches_zero() -> None:
    assert sign_flip_p([1.0] * 60) == 1 / (RANDOM_FLIPS + 1)


def test_the_sampled_p_is_close_to_the_exact_one() -> None:
    values = [1.0] * 12 + [-1.0] * 5  # two-sided binomial: 17 cases, 12 or more one way
    assert len(values) > EXACT_UP_TO
    assert sign_flip_p(values) == pytest.approx(0.1435, abs=0.015)


def test_the_sampled_p_depends_on_the_seed_alone() -> None:
    values = [0.5] * 12 + [-0.25] * 9
    assert sign_flip_p(values, seed=3) == sign_flip_p(values, seed=3)
    assert len({sign_flip_p(values, seed=seed) for seed in range(4)}) > 1


@given(st.lists(differences, max_size=24))
def test_p_is_a_probability_and_the_same_both_ways(values: list[float]) -> None:
    p = sign_flip_p(values)
    assert 0 < p <= 1
    assert sign_flip_p([-value for value in values]) == p
