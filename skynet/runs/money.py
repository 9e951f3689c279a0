"""The budget of a run: its limits from the spec, what earlier attempts paid, and the gateway's hook on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from skynet.errors import SkynetError
from skynet.evaluation.amounts import Amounts
from skynet.evaluation.budget import Budget, BudgetSpent, Limits
from skynet.evaluation.execution import current_purse
from skynet.evaluation.guards import Stop
from skynet.models.calls import ReserveRequest
from skynet.models.gateway import Settle
from skynet.models.ledger import LedgerEntry
from skynet.spec import Spec

COUNTED = ("metric_calls", "usd", "tokens", "seconds")


class Refused(SkynetError):
    """The run was refused before anything was stored or spent; the text says what would be right."""


@dataclass(frozen=True, slots=True)
class History:
    """What earlier attempts of a run paid. Requests in flight at the stop stay charged as they were reserved;
    `forked` are the keys of evaluations that another run paid."""

    paid: Amounts = field(default_factory=Amounts)
    by_role: Mapping[str, float] = field(default_factory=dict)
    entries: tuple[LedgerEntry, ...] = ()
    in_flight: Amounts = field(default_factory=Amounts)
    in_flight_requests: int = 0
    active_seconds: float = 0.0
    tested: int = 0
    resumed: bool = False
    forked: frozenset[str] = frozenset()

    @property
    def charged(self) -> Amounts:
        """What was paid, and what was in flight."""
        return Amounts(
            self.paid.metric_calls + self.in_flight.metric_calls,
            self.paid.usd + self.in_flight.usd,
            self.paid.tokens + self.in_flight.tokens,
        )


def plan_of(spec: Spec) -> dict[str, Any]:
    """Return the limits that a run is planned with. Raises Refused when there is none at all."""
    plan = {name: getattr(spec.budget, name) for name in COUNTED}
    if all(limit is None for limit in plan.values()):
        raise Refused(
            "[budget] is missing: a search without a limit has no end. Set metric_calls = 200, or usd, tokens or "
            "seconds, in [budget] of skynet.toml"
        )
    return plan


def budget_of(spec: Spec, limits: Mapping[str, Any], history: History) -> Budget:
    """Return the books of a run that may spend `limits` in all its attempts together."""
    return Budget(
        Limits(
            limits["metric_calls"],
            limits["usd"],
            limits["tokens"],
            limits["seconds"],
            {str(role): usd for role, usd in spec.budget.usd_by_role.items()},
        ),
        spent=history.charged,
        spent_by_role=dict(history.by_role),
        active_seconds=history.active_seconds,
    )


def reserver(budget: Budget) -> Callable[[ReserveRequest], Settle]:
    """Return the gateway's hook: each model call is set aside before it is made and settled after."""

    def reserve(request: ReserveRequest) -> Settle:
        purse = current_purse.get() or budget
        try:
            held = purse.reserve(usd=request.usd, tokens=request.tokens, role=request.role)
        except BudgetSpent as spent:
            raise Stop(spent.reason, str(spent)) from None

        def settle(entry: LedgerEntry | None) -> None:
            if entry is None:
                held.release()
            else:
                tokens = (entry.prompt_tokens or 0) + (entry.completion_tokens or 0)
                held.settle(usd=entry.cost_usd, tokens=tokens)

        return settle

    return reserve
