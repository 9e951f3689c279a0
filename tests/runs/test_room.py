"""How many test cases a budget still pays for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skynet.evaluation.amounts import Amounts
from skynet.evaluation.budget import Budget, Limits
from skynet.runs.case_costs import CaseCost, CaseCosts
from skynet.runs.room import Room

ONE: CaseCosts = {"task": CaseCost(usd=0.5, tokens=10, call_usd=2.0, call_tokens=100)}
JUDGED: CaseCosts = {**ONE, "metric": CaseCost(usd=0.25, tokens=5, call_usd=1.0, call_tokens=20)}


def room(limits: Limits, *costs: CaseCosts, repeats: int = 1, at_once: int = 4, held: float = 0.0) -> int:
    budget = Budget(limits)
    budget.hold("sealed", Amounts(usd=held), {"metric": held})
    return Room(budget.draw("sealed"), costs, repeats, at_once)()


@pytest.mark.parametrize(
    ("limits", "costs", "count"),
    [
        (Limits(), [ONE, ONE], 10**9),
        (Limits(metric_calls=7), [ONE, ONE], 3),
        (Limits(metric_calls=1), [ONE, ONE], 0),
        (Limits(usd=18.0), [ONE, ONE], 10),  # four calls under way set 8 aside
        (Limits(usd=5.0), [ONE, ONE], 1),  # two calls under way set 4 aside
        (Limits(usd=0.1), [ONE, ONE], 1),  # seems to be over: a call shows it
        (Limits(usd=18.0), [ONE, JUDGED], 8),
        (Limits(usd=18.0), [ONE], 20),
        (Limits(tokens=480), [ONE, ONE], 4),
        (Limits(usd=18.0, metric_calls=9), [ONE, ONE], 4),
        (Limits(usd_by_role={"metric": 6.0}), [ONE, JUDGED], 8),
        (Limits(usd_by_role={"reflection": 0.0}), [ONE, JUDGED], 10**9),
        (Limits(usd=0.0), [{}, {}], 10**9),  # models that cost nothing
    ],
)
def test_cases_are_counted_at_their_dearest_beside_the_calls_under_way(
    limits: Limits, costs: list[CaseCosts], count: int
) -> None:
    assert room(limits, *costs) == count


def test_repeats_multiply_what_a_case_costs() -> None:
    assert room(Limits(usd=18.0), ONE, ONE, repeats=2) == 5
    assert room(Limits(metric_calls=7), ONE, ONE, repeats=2) == 1


def test_what_is_held_and_what_is_free_count_together() -> None:
    assert room(Limits(usd=18.0, usd_by_role={"metric": 18.0}), ONE, JUDGED, held=10.0) == 8


@given(
    left=st.integers(0, 400), usd=st.integers(0, 40), call=st.integers(0, 60), at_once=st.integers(1, 9),
    repeats=st.integers(1, 3), versions=st.integers(1, 2),
)  # fmt: skip
def test_the_count_is_the_largest_that_fits(
    left: int, usd: int, call: int, at_once: int, repeats: int, versions: int
) -> None:
    def needed(cases: int) -> int:
        evaluations = cases * repeats * versions
        return evaluations * usd + min(evaluations, at_once) * call

    found = room(Limits(usd=left), *[{"task": CaseCost(usd=usd, call_usd=call)}] * versions,
                 repeats=repeats, at_once=at_once)  # fmt: skip
    assert found == 1 or needed(found) <= left
    assert found == 10**9 or needed(found + 1) > left or usd == call == 0
