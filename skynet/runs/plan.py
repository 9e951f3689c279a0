"""What a budget must cover before anything else is spent: check, the start's val pass, the sealed pass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from skynet.artifact import Artifact
from skynet.data.case import Case
from skynet.data.dataset import sample_cases
from skynet.evaluation.amounts import PICO, Amounts
from skynet.evaluation.budget import Budget, Limits
from skynet.evaluation.check_project import SAMPLES
from skynet.evaluation.project import Project
from skynet.models.calls import CallOptions, Scope, build_request, upper_bound
from skynet.target.prompt import render

if TYPE_CHECKING:
    from skynet.runs.case_costs import CaseCosts  # which loads SQLAlchemy, and a check shall not

CHECK_CALLS = 7  # the most metric calls that the contract check makes
HOLDS = ("check", "start", "sealed")
MARGIN = 2  # a case may cost so many times what the check's dearest did


class BudgetTooSmall(Exception):
    """The passes that every run makes do not fit; the text names the smallest budget that would do."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a pass costs at most: metric calls, tokens, and the dollars of each model role."""

    metric_calls: int = 0
    usd: Mapping[str, float] = field(default_factory=dict)
    tokens: int = 0

    @property
    def amounts(self) -> Amounts:
        """The same with the dollars of all roles together."""
        return Amounts(self.metric_calls, sum(self.usd.values()), self.tokens)

    def of(self, kind: str) -> float:
        """Return one amount, by its name in `[budget]`; `usd_by_role.task` is a role's."""
        if kind.startswith("usd_by_role."):
            return self.usd.get(kind.removeprefix("usd_by_role."), 0.0)
        amount: float = getattr(self.amounts, kind)
        return amount

    def __add__(self, other: Cost) -> Cost:
        usd = {role: self.usd.get(role, 0.0) + other.usd.get(role, 0.0) for role in {**self.usd, **other.usd}}
        return Cost(self.metric_calls + other.metric_calls, usd, self.tokens + other.tokens)

    def or_more(self, other: Cost) -> Cost:
        """Return the larger of the two in each amount."""
        usd = {role: max(self.usd.get(role, 0.0), other.usd.get(role, 0.0)) for role in {**self.usd, **other.usd}}
        return Cost(max(self.metric_calls, other.metric_calls), usd, max(self.tokens, other.tokens))


@dataclass(frozen=True, slots=True)
class Passes:
    """What the check, the start's val pass and the sealed pass cost at most."""

    check: Cost
    start: Cost
    sealed: Cost

    @property
    def total(self) -> Cost:
        """All of it."""
        return self.check + self.start + self.sealed


def plan_passes(project: Project, start: Artifact | None) -> Passes:
    """Return the passes of a run, before it. Dollars and tokens are known of chat's own calls; others are not in it."""
    data, repeats = project.dataset, project.spec.evaluation.repeats
    samples = sample_cases(data, SAMPLES, project.seed)
    return Passes(
        check=replace(_pass(project, start, samples, 1), metric_calls=CHECK_CALLS),
        start=_pass(project, start, data.val, repeats),
        sealed=_pass(project, start, data.test, 2 * repeats),
    )


def _pass(project: Project, start: Artifact | None, cases: Sequence[Case], times: int) -> Cost:
    usd, tokens = (0.0, 0) if start is None or not known_beforehand(project) else _chat_costs(project, start, cases)
    return Cost(len(cases) * times, {"task": usd * times} if usd else {}, tokens * times)


def known_beforehand(project: Project) -> bool:
    """Whether the target makes one model call a case, which can be told before it is made."""
    return project.spec.target.kind == "chat" and project.spec.models.task is not None


def _chat_costs(project: Project, start: Artifact, cases: Sequence[Case]) -> tuple[float, int]:
    """Return the most dollars and tokens of one chat call for each case."""
    spec = project.spec
    assert spec.models.task is not None
    price = project.gateway.price("task")
    options = CallOptions(choices=spec.target.choices)
    usd, tokens = 0.0, 0
    for case in cases:
        request = build_request(spec.models.task, render(start.content, case.input), options, spec.target.timeout)
        bound = upper_bound("task", request, price, Scope(case=case.id))
        usd += bound.usd or 0.0
        tokens += bound.tokens
    return usd, tokens


def with_measured(passes: Passes, costs: CaseCosts, at_once: int) -> Passes:
    """Add what start and sealed pass cost at twice the dearest case; `at_once` evaluations run at a time.

    `costs` are of the roles that are not in the passes yet.
    """
    return replace(
        passes,
        start=passes.start + at_dearest(costs, passes.start.metric_calls, at_once),
        sealed=passes.sealed + at_dearest(costs, passes.sealed.metric_calls, at_once),
    )


def at_dearest(costs: CaseCosts, evaluations: int, at_once: int) -> Cost:
    """Return twice what so many evaluations cost when each is the dearest.

    In a pass of few evaluations that is less than what the calls under way set aside, which must fit as well.
    """
    calls = min(evaluations, at_once)
    usd = {
        role: max(MARGIN * cost.usd * evaluations, cost.usd * evaluations + cost.call_usd * calls)
        for role, cost in costs.items()
    }
    tokens = (
        max(MARGIN * cost.tokens * evaluations, cost.tokens * evaluations + cost.call_tokens * calls)
        for cost in costs.values()
    )
    return Cost(0, usd, sum(tokens))


def left_to_pay(passes: Passes, early: int, tested: int, added: bool) -> Passes:
    """Return what of the passes is not paid yet, after `tested` metric calls on test cases and `early` others.

    What was paid first stands for check and start. With any limit raised (`added`) after a verdict, a new best version
    may need a sealed pass of its own.
    """
    check = max(0, passes.check.metric_calls - early)
    start = max(0, passes.start.metric_calls - max(0, early - passes.check.metric_calls))
    sealed = passes.sealed.metric_calls - tested
    if added and tested:
        sealed = max(sealed, passes.sealed.metric_calls // 2)
    return Passes(
        check=_share(passes.check, check),
        start=_share(passes.start, start),
        sealed=_share(passes.sealed, max(0, sealed)),
    )


def _share(whole: Cost, calls: int) -> Cost:
    part = calls / whole.metric_calls if whole.metric_calls else 0.0
    return Cost(calls, {role: usd * part for role, usd in whole.usd.items()}, int(whole.tokens * part))


def set_aside(budget: Budget, passes: Passes) -> None:
    """Hold what the passes cost, or what there is of it: requests in flight at a stop stay charged."""
    for name in HOLDS:
        budget.drop(name)
    for name in HOLDS:
        cost: Cost = getattr(passes, name)
        budget.hold(name, cost.amounts, cost.usd)


def refuse_small(limits: Limits, passes: Passes, told: str) -> None:
    """Raise BudgetTooSmall when the passes are above the limits; the text ends with what is `told`."""
    short = short_of(limits, passes)
    if short:
        given = ", ".join(f"{kind} is {limit:.12g}" for kind, limit in short.items())
        raise BudgetTooSmall(
            f"the budget is too small for a run: [budget] {given}; the smallest that would do is "
            f"{needed_of(short, passes)}, and a search needs more than that. {told}"
        )


def short_of(limits: Limits, passes: Passes) -> dict[str, float]:
    """Return the limits that the passes are above, by their names in `[budget]`."""
    caps = {f"usd_by_role.{role}": cap for role, cap in limits.usd_by_role.items()}
    every = {"metric_calls": limits.metric_calls, "usd": limits.usd, "tokens": limits.tokens, **caps}
    return {
        kind: limit
        for kind, limit in every.items()
        if limit is not None and round(passes.total.of(kind) * PICO) > round(limit * PICO)
    }


def needed_of(kinds: Iterable[str], passes: Passes) -> str:
    """Return what the passes need of each kind, and for what."""
    return " and ".join(f"{kind} = {shown(kind, passes.total.of(kind))} ({_parts(kind, passes)})" for kind in kinds)


def _parts(kind: str, passes: Passes) -> str:
    check, start, sealed = (shown(kind, part.of(kind)) for part in (passes.check, passes.start, passes.sealed))
    first = "contract check and first version" if "reflection" in passes.check.usd else "the contract check"
    return f"{check} for {first}, {start} for the start on val, {sealed} for start and best on test"


def shown(kind: str, amount: float) -> str:
    """Return an amount of a kind as text: dollars to four places or three digits, rounded up, so that they do."""
    if not kind.startswith("usd"):
        return str(round(amount))
    pico = round(amount * PICO)
    places = min(12, max(4, 15 - len(str(pico)))) if pico else 4
    step = PICO // 10**places
    return f"{-(-pico // step) * step / PICO:.{places}f}"
