"""What a budget must cover before anything is spent, and what it buys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skynet.artifact import Artifact
from skynet.data.case import Case
from skynet.evaluation.amounts import Amounts
from skynet.evaluation.budget import Budget, BudgetSpent, Limits
from skynet.evaluation.project import Project
from skynet.models.calls import CallOptions, Scope, build_request, upper_bound
from skynet.runs.money import History
from skynet.target.prompt import render

CHECK_CALLS = 7  # the most metric calls that the contract check makes


class BudgetTooSmall(Exception):
    """The passes that every run makes do not fit; the text names the smallest budget that would do."""


@dataclass(frozen=True, slots=True)
class Passes:
    """What the check, the start's val pass and the sealed pass cost at most."""

    check: Amounts
    start: Amounts
    sealed: Amounts

    @property
    def total(self) -> Amounts:
        """All of it."""
        parts = (self.check, self.start, self.sealed)
        return Amounts(
            sum(part.metric_calls for part in parts),
            sum(part.usd for part in parts),
            sum(part.tokens for part in parts),
        )


def plan_passes(project: Project, start: Artifact | None) -> Passes:
    """Return the passes of a run. Dollars and tokens are known for chat targets with a price; elsewhere they are 0."""
    data, repeats = project.dataset, project.spec.evaluation.repeats
    return Passes(
        check=Amounts(CHECK_CALLS),
        start=_pass(project, start, data.val, repeats),
        sealed=_pass(project, start, data.test, 2 * repeats),
    )


def left_to_pay(passes: Passes, history: History, added: bool) -> Passes:
    """Return what of the passes earlier attempts have not paid yet.

    What the search paid first stands for check and start. With a budget added after a verdict, a new best version may
    need a sealed pass of its own.
    """
    early = history.paid.metric_calls - history.tested
    check = min(passes.check.metric_calls, max(0, passes.check.metric_calls - early))
    start = max(0, passes.start.metric_calls - max(0, early - passes.check.metric_calls))
    sealed = passes.sealed.metric_calls - history.tested
    if added and history.tested:
        sealed = max(sealed, passes.sealed.metric_calls // 2)
    return Passes(
        check=Amounts(check),
        start=_share(passes.start, start),
        sealed=_share(passes.sealed, max(0, sealed)),
    )


def _share(whole: Amounts, calls: int) -> Amounts:
    part = calls / whole.metric_calls if whole.metric_calls else 0.0
    return Amounts(calls, whole.usd * part, int(whole.tokens * part))


def _pass(project: Project, start: Artifact | None, cases: Sequence[Case], times: int) -> Amounts:
    usd, tokens = (0.0, 0) if start is None else _case_costs(project, start, cases)
    return Amounts(len(cases) * times, usd * times, tokens * times)


def _case_costs(project: Project, start: Artifact, cases: Sequence[Case]) -> tuple[float, int]:
    """Return the most dollars and tokens of one chat call for each case."""
    spec = project.spec
    if spec.target.kind != "chat" or spec.models.task is None:
        return 0.0, 0
    price = project.gateway.price("task")
    options = CallOptions(choices=spec.target.choices)
    usd, tokens = 0.0, 0
    for case in cases:
        request = build_request(spec.models.task, render(start.content, case.input), options, spec.target.timeout)
        bound = upper_bound("task", request, price, Scope(case=case.id))
        usd += bound.usd or 0.0
        tokens += bound.tokens
    return usd, tokens


def set_aside(budget: Budget, passes: Passes, *, resumed: bool = False) -> None:
    """Hold what the passes cost. Raises BudgetTooSmall, with nothing held.

    Requests in flight at a stop stay charged, so a resumed run may be left with less: it holds what there is.
    """
    names = ("check", "start", "sealed")
    try:
        for name in names:
            amounts = getattr(passes, name)
            budget.hold(name, _within(amounts, budget.remaining) if resumed else amounts)
    except BudgetSpent as spent:
        for name in names:
            budget.drop(name)
        raise BudgetTooSmall(_needed(passes, spent)) from None


def _within(amounts: Amounts, left: Limits) -> Amounts:
    return Amounts(
        amounts.metric_calls if left.metric_calls is None else min(amounts.metric_calls, left.metric_calls),
        amounts.usd if left.usd is None else min(amounts.usd, left.usd),
        amounts.tokens if left.tokens is None else min(amounts.tokens, left.tokens),
    )


def _needed(passes: Passes, spent: BudgetSpent) -> str:
    total = passes.total
    parts = (
        f"{passes.check.metric_calls} for the contract check, {passes.start.metric_calls} for the start on val, "
        f"{passes.sealed.metric_calls} for start and best on test"
    )
    smallest = {
        "metric_calls": f"metric_calls = {total.metric_calls} ({parts})",
        "usd": f"usd = {total.usd:.4f} (the most that these passes can cost)",
        "tokens": f"tokens = {total.tokens} (the most that these passes can take)",
    }[spent.kind]
    return (
        f"the budget is too small for a run: [budget] {spent.kind} is {spent.limit:g}; the smallest that would do is "
        f"{smallest}, and a search needs more than that. Nothing was spent."
    )
