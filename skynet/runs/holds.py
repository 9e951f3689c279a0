"""Keeping what every run must pay out of the search's reach: as planned before the check, as measured after it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from skynet.artifact import Artifact
from skynet.data.case import Case
from skynet.evaluation.amounts import Amounts
from skynet.evaluation.books import evaluation_key
from skynet.evaluation.budget import Budget
from skynet.evaluation.guards import Stop
from skynet.evaluation.project import Project
from skynet.runs.books import RunBooks
from skynet.runs.case_costs import CaseCosts
from skynet.runs.money import History
from skynet.runs.plan import (
    CHECK_CALLS,
    BudgetTooSmall,
    Cost,
    Passes,
    at_dearest,
    known_beforehand,
    left_to_pay,
    needed_of,
    plan_passes,
    refuse_small,
    set_aside,
    short_of,
    shown,
    with_measured,
)

_HELD = "held for the start's val pass and the sealed pass"
_UNPAID = ("budget_metric_calls", "budget_usd", "budget_tokens")

_RECKONED = " Each case is reckoned at twice the dearest, with room for the calls under way at a time."


class PassHolds:
    """The holds of one attempt. A run is refused by the same figures in every attempt, until one came past this."""

    def __init__(
        self, project: Project, books: RunBooks, budget: Budget, history: History, *, scope: str, added: bool
    ) -> None:
        self._project = project
        self._books = books
        self._budget = budget
        self._history = history
        self._scope = scope
        self._added = added
        told = (event.reason or "" for event in books.events.read() if event.kind == "budget")
        self._passed = any(reason.startswith(_HELD) for reason in told)
        self._start = project.start
        self._keys: list[str] = []  # the evaluations that costs are measured on
        self._at_once = project.spec.evaluation.concurrency

    def before_check(self) -> None:
        """Hold what is known beforehand. Raises BudgetTooSmall, before anything is spent."""
        passes = plan_passes(self._project, self._start)
        if not self._passed:
            spent = self._budget.spent
            told = "Nothing was spent." if spent == Amounts() else self._spent("The run")
            refuse_small(self._budget.limits, passes, told)
        set_aside(self._budget, self._left(passes))

    def after_check(self, at_once: int) -> None:
        """Hold what the check measured, with `at_once` evaluations at a time. Raises BudgetTooSmall."""
        self._at_once = at_once
        self._hold("The check", last=self._start is not None)

    def written(self, start: Artifact) -> None:
        """Hold anew for the first version that was written. Raises BudgetTooSmall."""
        self._start = start
        self._hold("Check and first version", last=not self.unmeasured)

    def after_first_cases(self, cases: Sequence[Case]) -> None:
        """Hold what the start cost on its first val cases, where the check had no version to measure.

        Raises BudgetTooSmall.
        """
        assert self._start is not None
        self._measure(self._start, cases)
        self._hold(f"Check, first version and the first {len(cases)} val cases", last=True)

    @property
    def unmeasured(self) -> bool:
        """Whether nothing is known yet of what a case costs the target."""
        return self._project.start is None and not known_beforehand(self._project)

    @contextmanager
    def checking(self, cases: Sequence[Case], scored: Iterable[str]) -> Iterator[None]:
        """Take what the check evaluates into what costs are measured on; `scored` are keys, complete at its end."""
        if self._start is not None:
            self._measure(self._start, cases)
        with self.paying("the contract check"):
            try:
                yield
            finally:
                self._keys += scored

    def _measure(self, start: Artifact, cases: Sequence[Case]) -> None:
        names = self._project.case_names
        self._keys += [evaluation_key(self._scope, start.id, names[case.id], 0, 0, 0) for case in cases]

    @contextmanager
    def paying(self, what: str) -> Iterator[None]:
        """Turn a stop that ends `what`, before there is anything to search with, into BudgetTooSmall."""
        try:
            yield
        except Stop as stop:
            if stop.reason not in _UNPAID:
                raise
            raise BudgetTooSmall(self._unpaid(stop, what)) from None

    def _unpaid(self, stop: Stop, what: str) -> str:
        costs = self._costs()
        passes = with_measured(plan_passes(self._project, self._start), costs, self._at_once)
        passes = replace(passes, check=passes.check + at_dearest(costs, CHECK_CALLS, 1))
        short = short_of(self._budget.limits, passes)
        least = f" By what was measured, a run takes {needed_of(short, passes)}." if short else ""
        told = f"the budget is too small for a run: {what} could not be paid to its end ({stop})."
        return f"{told}{least} {self._spent('The run')}"

    def _hold(self, what: str, *, last: bool) -> None:
        plan, costs = plan_passes(self._project, self._start), self._costs()
        if not self._passed:
            usd, tokens = self._books.costs.spent()
            check = plan.check.or_more(Cost(0, usd, tokens))
            passes = with_measured(replace(plan, check=check), costs, self._at_once)
            refuse_small(self._budget.limits, passes, self._spent(what) + (_RECKONED if costs else ""))
        left = with_measured(self._left(plan), costs, self._at_once)
        set_aside(self._budget, replace(left, check=Cost()))
        if last:  # from here on no attempt is refused
            held = _told(*(self._budget.draw(name).left for name in ("start", "sealed")))
            self._books.event("budget", "held", reason=f"{_HELD}: {held}")

    def _left(self, passes: Passes) -> Passes:
        """Return what is left to pay of the passes, whichever attempt paid the rest."""
        tested = self._history.tested
        early = self._budget.spent.metric_calls - self._history.in_flight.metric_calls - tested
        return left_to_pay(passes, early, tested, self._added)

    def _costs(self) -> CaseCosts:
        """Return what was measured, of the roles that are not known beforehand."""
        known = "task" if self._start is not None and known_beforehand(self._project) else None
        costs = self._books.costs.of_evaluations(self._keys)
        return {role: cost for role, cost in costs.items() if role != known}

    def _spent(self, what: str) -> str:
        return f"{what} spent {_told(self._budget.spent)}."


def _told(*amounts: Amounts) -> str:
    calls, usd, tokens = (sum(getattr(one, name) for one in amounts) for name in ("metric_calls", "usd", "tokens"))
    return f"{calls} metric calls, ${shown('usd', usd)} and {tokens} tokens"
