from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skynet.summary.pass_at_k import pass_at_k


@given(trials=st.integers(1, 8), data=st.data())
def test_it_is_the_share_of_draws_of_k_trials_that_hold_a_pass(trials: int, data: st.DataObject) -> None:
    passes, k = data.draw(st.integers(0, trials)), data.draw(st.integers(1, trials))
    draws = list(combinations([True] * passes + [False] * (trials - passes), k))
    assert pass_at_k(trials, passes, k) == pytest.approx(sum(map(any, draws)) / len(draws))


def test_fewer_trials_than_k_are_no_estimate() -> None:
    assert pass_at_k(2, 2, 3) is None
    assert pass_at_k(0, 0, 1) is None
