from __future__ import annotations

import pytest

from skynet.cli.live import resumed_sentence, spent_so_far
from skynet.evaluation.amounts import Amounts
from skynet.evaluation.budget import Budget, Limits
from skynet.models.ledger import LedgerEntry
from skynet.runs.money import History


def call(usd: float | None) -> LedgerEntry:
    return LedgerEntry("task", "openai/m", 10, 2, usd, 5.0, None, None, 0.0)


def spending(limits: Limits, usd: float, *, priced: bool = True) -> Budget:
    budget = Budget(limits)
    budget.reserve(metric_calls=5, usd=usd).settle(metric_calls=5, usd=usd)
    if not priced:
        budget.reserve(usd=None).settle(usd=None)
    return budget


@pytest.mark.parametrize(
    ("usd", "priced", "told"),
    [(0.0, True, "$0"), (0.25, True, "$0.2500"), (0.0, False, "cost unknown"), (0.25, False, "at least $0.2500")],
)
def test_what_is_spent_is_unknown_and_not_0_without_a_price(usd: float, priced: bool, told: str) -> None:
    assert f"5 metric calls, {told}, " in spent_so_far(spending(Limits(), usd, priced=priced), unpriced=False)


def test_a_resumed_run_remembers_that_a_price_was_unknown() -> None:
    assert "at least $0.2500, " in spent_so_far(spending(Limits(), 0.25), unpriced=True)


def test_each_limit_stands_beside_what_is_spent_of_it() -> None:
    told = spent_so_far(spending(Limits(metric_calls=20, usd=1.0, seconds=60), 0.25), unpriced=False)
    assert "5 of 20 metric calls" in told
    assert "$0.2500 of $1.00" in told
    assert "of 60 s" in told


@pytest.mark.parametrize(
    ("paid", "calls", "told"),
    [
        (0.0, (), "$0 already paid"), (0.004, (0.004,), "$0.0040 already paid"),
        (0.0, (None,), "an unknown amount already paid"), (0.5, (0.5, None), "at least $0.5000 already paid"),
    ],
)  # fmt: skip
def test_a_resume_says_what_was_paid_and_never_0_for_an_unknown_price(
    paid: float, calls: tuple[float | None, ...], told: str
) -> None:
    history = History(paid=Amounts(34, paid), entries=tuple(call(usd) for usd in calls))
    assert resumed_sentence(history, 200).startswith(f"Resumed at 34 of 200 metric calls, {told}.")
