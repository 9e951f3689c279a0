from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from skynet.evaluation.amounts import Amounts
from skynet.evaluation.budget import Budget, BudgetSpent, Limits, Purse, Reservation


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_without_limits_everything_fits() -> None:
    budget = Budget(Limits())
    budget.reserve(metric_calls=10**9, usd=1e9, tokens=10**12).settle(5, 2.5, 7)
    assert budget.spent == Amounts(5, 2.5, 7)
    assert budget.remaining == Limits()
    assert budget.finish_reason is None


@pytest.mark.parametrize(
    ("limits", "call", "text", "reason"),
    [
        (Limits(metric_calls=3), {"metric_calls": 4}, "metric_calls is spent: needs 4, 3 of 3", "budget_metric_calls"),
        (Limits(usd=0.5), {"usd": 0.6}, r"usd is spent: needs 0\.6, 0\.5 of 0\.5 are left", "budget_usd"),
        (Limits(tokens=9), {"tokens": 10}, "tokens is spent: needs 10, 9 of 9 are left", "budget_tokens"),
        (Limits(seconds=0), {}, "seconds is spent: after 0 seconds", "budget_seconds"),
    ],
)
def test_what_does_not_fit_is_refused_and_names_itself(
    limits: Limits, call: dict[str, Any], text: str, reason: str
) -> None:
    budget = Budget(limits)
    with pytest.raises(BudgetSpent, match=text) as caught:
        budget.reserve(**call)
    assert caught.value.reason == budget.finish_reason == reason
    assert budget.spent == Amounts()


def test_a_limit_can_be_spent_to_the_last_cent() -> None:
    budget = Budget(Limits(usd=0.3))
    for _ in range(3):
        budget.reserve(usd=0.1).settle(usd=0.1)  # as floats, 0.1 + 0.1 + 0.1 is above 0.3
    assert budget.remaining.usd == 0.0
    with pytest.raises(BudgetSpent):
        budget.reserve(usd=1e-9)


def test_a_spent_part_refuses_only_the_calls_that_need_it() -> None:
    budget = Budget(Limits(metric_calls=0, usd=1.0))
    budget.reserve(usd=1.0)
    with pytest.raises(BudgetSpent):
        budget.reserve(metric_calls=1)


def test_settling_gives_back_what_the_call_did_not_use() -> None:
    budget = Budget(Limits(metric_calls=10, usd=1.0, tokens=100))
    reservation = budget.reserve(metric_calls=1, usd=0.8, tokens=80)
    assert budget.remaining == Limits(9, 0.2, 20)
    assert reservation.amounts == Amounts(1, 0.8, 80)
    reservation.settle(metric_calls=1, usd=0.3, tokens=30)
    assert budget.remaining == Limits(9, 0.7, 70)


def test_releasing_gives_back_everything() -> None:
    budget = Budget(Limits(metric_calls=1))
    budget.reserve(metric_calls=1).release()
    assert budget.spent == Amounts()
    budget.reserve(metric_calls=1)


@pytest.mark.parametrize("first", [Reservation.settle, Reservation.release])
@pytest.mark.parametrize("second", [Reservation.settle, Reservation.release])
def test_a_reservation_is_closed_once(
    first: Callable[[Reservation], None], second: Callable[[Reservation], None]
) -> None:
    reservation = Budget(Limits()).reserve(metric_calls=1)
    first(reservation)
    with pytest.raises(ValueError, match="settled or released before"):
        second(reservation)


def test_a_cost_above_the_reservation_is_charged_in_full_and_stops_the_next_call() -> None:
    budget = Budget(Limits(usd=1.0))
    budget.reserve(usd=0.9).settle(usd=1.2)
    assert budget.spent.usd == 1.2
    assert budget.remaining.usd == 0.0
    with pytest.raises(BudgetSpent):
        budget.reserve(usd=0.1)
    budget.reserve(usd=0.0)


def test_a_batch_that_does_not_fit_is_not_begun() -> None:
    budget = Budget(Limits(metric_calls=5))
    with pytest.raises(BudgetSpent, match="needs 6, 5 of 5"):
        budget.reserve_each(6, metric_calls=1)
    assert budget.remaining.metric_calls == 5
    assert len(budget.reserve_each(5, metric_calls=1)) == 5
    assert budget.remaining.metric_calls == 0


def test_each_call_of_a_batch_settles_for_itself() -> None:
    budget = Budget(Limits(metric_calls=5))
    first, second = budget.reserve_each(2, metric_calls=1)
    first.settle(metric_calls=1)
    second.release()
    assert budget.remaining.metric_calls == 4


@pytest.mark.parametrize("call", [{"metric_calls": -1}, {"tokens": -1}, {"usd": -0.1}, {"usd": float("nan")}])
def test_an_amount_below_nothing_is_refused(call: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="finite and not negative"):
        Budget(Limits()).reserve(**call)


@pytest.mark.parametrize("when", ["reserved", "settled"])
def test_an_unknown_price_counts_as_nothing_and_makes_the_dollars_a_lower_bound(when: str) -> None:
    budget = Budget(Limits(usd=1.0))
    assert not budget.usd_is_lower_bound
    reservation = budget.reserve(usd=None if when == "reserved" else 0.5)
    reservation.settle(usd=None if when == "settled" else 0.0)
    assert budget.usd_is_lower_bound
    assert budget.spent.usd == 0.0


def test_a_role_is_capped_by_itself() -> None:
    budget = Budget(Limits(usd=10.0, usd_by_role={"reflection": 1.0}))
    budget.reserve(usd=0.75, role="reflection").settle(usd=0.5)
    waiting = budget.reserve(usd=0.25, role="reflection")
    with pytest.raises(BudgetSpent, match=r"usd_by_role.reflection is spent: needs 0.5, 0.25 of 1") as caught:
        budget.reserve(usd=0.5, role="reflection")
    assert (caught.value.reason, caught.value.role) == ("budget_usd", "reflection")
    budget.reserve(usd=5.0, role="task").settle(usd=5.0)
    waiting.release()
    assert budget.spent_by_role == {"reflection": 0.5, "task": 5.0}
    assert budget.remaining.usd_by_role == {"reflection": 0.5}


def test_seconds_are_active_time_over_all_attempts() -> None:
    clock = Clock()
    budget = Budget(Limits(seconds=100), active_seconds=60, clock=clock)
    clock.now += 39
    budget.reserve(metric_calls=1)
    assert budget.remaining.seconds == 1
    clock.now += 1
    with pytest.raises(BudgetSpent, match="after 100 seconds"):
        budget.reserve(metric_calls=1)
    assert budget.active_seconds == 100
    assert budget.finish_reason == "budget_seconds"


def test_a_resumed_run_starts_with_what_was_spent() -> None:
    limits = Limits(metric_calls=10, usd_by_role={"task": 1.0})
    budget = Budget(limits, spent=Amounts(8, 0.75, 5), spent_by_role={"task": 0.75})
    assert budget.remaining == Limits(metric_calls=2, usd_by_role={"task": 0.25})
    with pytest.raises(BudgetSpent):
        budget.reserve(usd=0.5, role="task")


def test_the_first_refusal_is_the_finish_reason() -> None:
    budget = Budget(Limits(metric_calls=0, tokens=0))
    with pytest.raises(BudgetSpent):
        budget.reserve(tokens=1)
    with pytest.raises(BudgetSpent):
        budget.reserve(metric_calls=1)
    assert budget.finish_reason == "budget_tokens"


def test_a_hold_is_kept_from_all_other_calls() -> None:
    budget = Budget(Limits(metric_calls=10))
    budget.hold("verdict", Amounts(metric_calls=6))
    assert budget.remaining.metric_calls == 4
    with pytest.raises(BudgetSpent, match="needs 5, 4 of 10"):
        budget.reserve(metric_calls=5)
    assert len(budget.draw("verdict").reserve_each(6, metric_calls=1)) == 6
    assert budget.draw("verdict").left == Amounts()
    budget.reserve(metric_calls=4)


def test_a_hold_takes_what_there_is_and_is_no_finish_reason() -> None:
    budget = Budget(Limits(metric_calls=10, usd=1.0), spent=Amounts(usd=0.75))
    budget.hold("start", Amounts(metric_calls=6))
    budget.hold("verdict", Amounts(5, 0.5, 7))
    assert budget.draw("verdict").left == Amounts(4, 0.25, 7)
    assert (budget.remaining.metric_calls, budget.remaining.usd) == (0, 0.0)
    assert budget.finish_reason is None


def test_a_second_hold_of_a_name_replaces_the_first() -> None:
    budget = Budget(Limits(usd=10.0))
    budget.hold("verdict", Amounts(usd=6.0))
    budget.hold("verdict", Amounts(usd=8.0))
    assert budget.remaining.usd == 2.0
    budget.hold("verdict", Amounts(usd=11.0))
    assert budget.draw("verdict").left == Amounts(usd=10.0)


def test_a_hold_keeps_its_share_of_a_roles_cap() -> None:
    budget = Budget(Limits(usd=10.0, usd_by_role={"task": 1.0}))
    budget.hold("verdict", Amounts(usd=2.0), {"task": 0.75, "metric": 1.25})
    assert budget.remaining.usd_by_role == {"task": 0.25}
    assert budget.draw("verdict").remaining.usd_by_role == {"task": 1.0}
    with pytest.raises(BudgetSpent, match=r"usd_by_role.task is spent: needs 0.5, 0.25 of 1"):
        budget.reserve(usd=0.5, role="task")
    budget.draw("verdict").reserve(usd=0.5, role="task").settle(usd=0.25)
    assert budget.remaining.usd_by_role == {"task": 0.25}
    assert budget.draw("verdict").remaining.usd_by_role == {"task": 0.75}
    budget.drop("verdict")
    assert budget.remaining.usd_by_role == {"task": 0.75}


def test_a_hold_takes_what_there_is_of_a_cap() -> None:
    budget = Budget(Limits(usd_by_role={"task": 1.0}), spent_by_role={"task": 0.75})
    budget.hold("verdict", Amounts(usd=2.0), {"task": 2.0})
    assert budget.remaining.usd_by_role == {"task": 0.0}
    budget.draw("verdict").reserve(usd=0.25, role="task")
    with pytest.raises(BudgetSpent):
        budget.draw("verdict").reserve(usd=0.01, role="task")


def test_a_dropped_hold_is_free_again() -> None:
    budget = Budget(Limits(metric_calls=10))
    budget.hold("start", Amounts(metric_calls=6))
    running = budget.draw("start").reserve(metric_calls=1)
    budget.drop("start")
    budget.drop("start")
    running.release()
    assert budget.remaining.metric_calls == 10


def test_a_hold_that_is_used_up_draws_on_what_is_free() -> None:
    budget = Budget(Limits(metric_calls=10))
    budget.hold("verdict", Amounts(metric_calls=2))
    reservations = budget.draw("verdict").reserve_each(5, metric_calls=1)
    assert budget.remaining.metric_calls == 5
    for reservation in reservations:
        reservation.release()
    assert budget.draw("verdict").left.metric_calls == 2
    with pytest.raises(BudgetSpent, match="needs 11, 10 of 10"):
        budget.draw("verdict").reserve(metric_calls=11)
    assert budget.finish_reason is None


def test_what_a_drawn_call_did_not_use_goes_back_to_its_hold() -> None:
    budget = Budget(Limits(usd=10.0))
    budget.hold("verdict", Amounts(usd=4.0))
    budget.draw("verdict").reserve(usd=3.0).settle(usd=1.0)
    assert budget.draw("verdict").left == Amounts(usd=3.0)
    assert budget.remaining.usd == 6.0


def test_a_hold_may_be_spent_when_the_time_is_over() -> None:
    clock = Clock()
    budget = Budget(Limits(metric_calls=10, seconds=5), clock=clock)
    budget.hold("verdict", Amounts(metric_calls=2))
    clock.now += 6
    with pytest.raises(BudgetSpent):
        budget.reserve(metric_calls=1)
    budget.draw("verdict").reserve(metric_calls=2).settle(metric_calls=2)


CENTS = st.integers(0, 400).map(lambda cents: cents / 100)


class Books(RuleBasedStateMachine):
    """Any order of calls, with settlements within their reservations, stays inside the limits and balances."""

    @initialize(calls=st.integers(0, 30), usd=CENTS, cap=CENTS)
    def begin(self, calls: int, usd: float, cap: float) -> None:
        self.limits = Limits(metric_calls=calls, usd=usd, tokens=None, usd_by_role={"task": cap})
        self.budget = Budget(self.limits)
        self.open: list[Reservation] = []
        self.charged = [0, 0]
        self.refusals: list[BudgetSpent] = []
        self.held_caps: dict[str, float] = {}

    def take(self, door: Budget | Purse, count: int, calls: int, usd: float, role: str | None) -> None:
        try:
            self.open += door.reserve_each(count, calls, usd, 0, role)
        except BudgetSpent as spent:
            self.refusals.append(spent)

    @rule(count=st.integers(0, 3), calls=st.integers(0, 3), usd=CENTS, role=st.sampled_from([None, "task", "metric"]))
    def reserve(self, count: int, calls: int, usd: float, role: str | None) -> None:
        self.take(self.budget, count, calls, usd, role)

    @rule(name=st.sampled_from("ab"), calls=st.integers(0, 3), usd=CENTS, role=st.sampled_from([None, "task"]))
    def draw(self, name: str, calls: int, usd: float, role: str | None) -> None:
        before, cap = self.budget.draw(name).left, self.held_caps.get(name, 0.0)
        fits = calls <= before.metric_calls and usd <= before.usd and (role is None or usd <= cap)
        taken = len(self.open)
        self.take(self.budget.draw(name), 1, calls, usd, role)
        assert len(self.open) == taken + 1 or not fits  # what is held is there when it is needed
        if role is not None and len(self.open) > taken:
            self.held_caps[name] = max(cap - usd, 0.0)  # what comes back later is not counted on

    @rule(name=st.sampled_from("ab"), calls=st.integers(0, 10), usd=CENTS, cap=CENTS)
    def hold(self, name: str, calls: int, usd: float, cap: float) -> None:
        self.budget.drop(name)
        there = self.budget.remaining
        self.budget.hold(name, Amounts(calls, usd), {"task": cap})
        assert there.metric_calls is not None
        assert there.usd is not None
        left = self.budget.draw(name).left
        assert left == Amounts(min(calls, there.metric_calls), min(usd, there.usd))
        self.held_caps[name] = round(min(cap, there.usd_by_role["task"]), 9)

    @rule(name=st.sampled_from("ab"))
    def drop(self, name: str) -> None:
        self.budget.drop(name)
        self.held_caps.pop(name, None)

    @precondition(lambda self: self.open)
    @rule(data=st.data(), share=st.integers(0, 2))
    def close(self, data: st.DataObject, share: int) -> None:
        reservation = self.open.pop(data.draw(st.integers(0, len(self.open) - 1)))
        calls, cents = reservation.amounts.metric_calls * share // 2, round(reservation.amounts.usd * 100) * share // 2
        reservation.settle(calls, cents / 100)
        self.charged = [self.charged[0] + calls, self.charged[1] + cents]

    @invariant()
    def balances(self) -> None:
        if not hasattr(self, "budget"):
            return
        assert self.limits.metric_calls is not None
        assert self.limits.usd is not None
        spent, left = self.budget.spent, self.budget.remaining
        assert (spent.metric_calls, round(spent.usd * 100)) == tuple(self.charged)
        aside = [self.budget.draw(name).left for name in "ab"] + [reservation.amounts for reservation in self.open]
        assert left.metric_calls is not None
        assert left.usd is not None
        calls = spent.metric_calls + left.metric_calls + sum(amounts.metric_calls for amounts in aside)
        usd = spent.usd + left.usd + sum(amounts.usd for amounts in aside)
        assert calls == self.limits.metric_calls
        assert usd == pytest.approx(self.limits.usd)
        assert all(refusal.needed > refusal.left for refusal in self.refusals)
        assert self.budget.spent_by_role.get("task", 0.0) <= self.limits.usd_by_role["task"] + 1e-9


TestBooks = Books.TestCase
TestBooks.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


@settings(max_examples=15, deadline=None)
@given(calls=st.integers(0, 300), cents=st.integers(0, 300), threads=st.integers(2, 8), seed=st.integers())
def test_no_interleaving_of_threads_overshoots(calls: int, cents: int, threads: int, seed: int) -> None:
    budget = Budget(Limits(metric_calls=calls, usd=cents / 100))
    made: list[list[tuple[int, int]]] = [[] for _ in range(threads)]

    def work(number: int) -> None:
        draws = random.Random(seed + number)
        while True:
            try:
                reservation = budget.reserve(metric_calls=1, usd=0.02)
            except BudgetSpent:
                return
            cost = draws.choice([0, 1, 2])
            if draws.random() < 0.1:
                reservation.release()
            else:
                reservation.settle(metric_calls=1, usd=cost / 100)
                made[number].append((1, cost))

    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    done = [call for thread in made for call in thread]
    assert len(done) == budget.spent.metric_calls <= calls
    assert sum(cost for _, cost in done) == round(budget.spent.usd * 100) <= cents
    left = budget.remaining
    assert left.metric_calls == calls - len(done)
    assert left.metric_calls == 0 or left.usd is None or left.usd < 0.02
