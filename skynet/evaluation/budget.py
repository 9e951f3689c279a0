"""The budget of a run: what a call may cost is set aside before it starts and settled after, so nothing is overshot."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from skynet.errors import SkynetError
from skynet.evaluation.amounts import NOTHING, PICO, Amounts, Exact

Kind = Literal["metric_calls", "usd", "tokens", "seconds"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may spend; None is without limit. `usd_by_role` caps task, reflection and metric models."""

    metric_calls: int | None = None
    usd: float | None = None
    tokens: int | None = None
    seconds: float | None = None
    usd_by_role: Mapping[str, float] = field(default_factory=dict)


class BudgetSpent(SkynetError):
    """A call does not fit any more; nothing was set aside for it. `reason` is the run's finish reason."""

    def __init__(self, kind: Kind, needed: float, left: float, limit: float, role: str | None = None) -> None:
        self.kind, self.needed, self.left, self.limit, self.role = kind, needed, left, limit, role
        self.reason = f"budget_{kind}"
        name = f"usd_by_role.{role}" if role else kind
        text = f"after {limit:g} seconds" if kind == "seconds" else f"needs {needed:g}, {left:g} of {limit:g} are left"
        super().__init__(f"the budget [budget] {name} is spent: {text}")


class Reservation:
    """An amount set aside for one call: settled once with what the call cost, or released when it was not made."""

    def __init__(
        self, budget: Budget, exact: Exact, role: str | None, hold: str | None, from_hold: Exact, from_cap: int
    ) -> None:
        self._budget, self._exact, self._role = budget, exact, role
        self._hold, self._from_hold, self._from_cap = hold, from_hold, from_cap
        self._open = True

    @property
    def amounts(self) -> Amounts:
        """What is set aside."""
        return self._exact.plain

    def settle(
        self, metric_calls: int = 0, usd: float | None = 0.0, tokens: int = 0, *, lower_bound: bool = False
    ) -> None:
        """Charge what the call cost and give the rest back. `usd=None`: unknown, so that the dollars are a lower bound.

        `lower_bound`: `usd` stands for a cost that nobody knows. A cost above the reservation is charged in
        full. Raises ValueError when it was settled or released before.
        """
        actual = Exact.of(Amounts(metric_calls, usd or 0.0, tokens))
        self._budget._close(self, actual, unpriced=usd is None or lower_bound)

    def release(self) -> None:
        """Give all of it back: the call was not made."""
        self._budget._close(self, NOTHING, unpriced=False)


@dataclass(slots=True)
class Hold:
    """What is left of a hold, and of what it holds of the caps of model roles, in trillionths of a dollar."""

    left: Exact = NOTHING
    caps: dict[str, int] = field(default_factory=dict)


class Budget:
    """The books of a run, for any number of threads.

    `spent`, `spent_by_role` and `active_seconds` are what earlier attempts used. Seconds are active time on `clock`,
    which never jumps; they end the search, and not what a hold was made for.
    """

    def __init__(
        self,
        limits: Limits,
        *,
        spent: Amounts = Amounts(),
        spent_by_role: Mapping[str, float] | None = None,
        active_seconds: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.limits = limits
        self._clock, self._started, self._before = clock, clock(), active_seconds
        self._lock = threading.Lock()
        self._spent = Exact.of(spent)
        self._reserved = NOTHING
        self._holds: dict[str, Hold] = {}
        self._pico_by_role = {role: round(usd * PICO) for role, usd in (spent_by_role or {}).items()}  # and reserved
        self._spent_by_role = dict(self._pico_by_role)
        self._unpriced = False
        self._reason: str | None = None

    def reserve(
        self, metric_calls: int = 0, usd: float | None = 0.0, tokens: int = 0, role: str | None = None
    ) -> Reservation:
        """Set an amount aside for a call. Raises BudgetSpent when it does not fit.

        `usd=None` means that the price is unknown: it counts as nothing, and the dollars become a lower bound.
        """
        return self.reserve_each(1, metric_calls, usd, tokens, role)[0]

    def reserve_each(
        self, count: int, metric_calls: int = 0, usd: float | None = 0.0, tokens: int = 0, role: str | None = None
    ) -> list[Reservation]:
        """Set the amount aside for each of `count` calls, for all or for none. Raises BudgetSpent."""
        return self._reserve(count, Amounts(metric_calls, usd or 0.0, tokens), role, None, unpriced=usd is None)

    def hold(self, name: str, amounts: Amounts, usd_by_role: Mapping[str, float] | None = None) -> None:
        """Set `amounts` aside under a name, for a later pass, or what there is of them; `usd_by_role` of roles' caps.

        A second hold of a name replaces what is left of the first.
        """
        with self._lock:
            self._holds.pop(name, None)
            free, limits, wanted = self._free(), self.limits, Exact.of(amounts)
            left = Exact(
                _at_most(wanted.metric_calls, limits.metric_calls, free.metric_calls),
                _at_most(wanted.pico, limits.usd, free.pico),
                _at_most(wanted.tokens, limits.tokens, free.tokens),
            )
            caps = {
                role: min(round(usd * PICO), self._left_of_cap(role))
                for role, usd in (usd_by_role or {}).items()
                if role in limits.usd_by_role
            }
            self._holds[name] = Hold(left, caps)

    def drop(self, name: str) -> None:
        """Give back what is left of a hold."""
        with self._lock:
            self._holds.pop(name, None)

    def draw(self, name: str) -> Purse:
        """Return the purse that spends out of the hold first and out of what is free then."""
        return Purse(self, name)

    def check(self) -> None:
        """Raise BudgetSpent when the active seconds are over."""
        limit = self.limits.seconds
        if limit is not None and self.active_seconds >= limit:
            self._reason = self._reason or "budget_seconds"
            raise BudgetSpent("seconds", self.active_seconds, 0.0, limit)

    @property
    def active_seconds(self) -> float:
        """The time that this and all earlier attempts of the run were at work."""
        return self._before + self._clock() - self._started

    @property
    def spent(self) -> Amounts:
        """What was settled."""
        with self._lock:
            return self._spent.plain

    @property
    def spent_by_role(self) -> dict[str, float]:
        """The settled dollars of each model role."""
        with self._lock:
            return {role: pico / PICO for role, pico in self._spent_by_role.items()}

    @property
    def remaining(self) -> Limits:
        """What a call outside every hold can still reserve; None where there is no limit."""
        return self._remaining(None)

    def _remaining(self, drawn_on: str | None) -> Limits:
        with self._lock:
            free, limits = (self._free() + self._held(drawn_on)).plain, self.limits
            seconds = None if limits.seconds is None else max(limits.seconds - self.active_seconds, 0.0)
            roles = {role: self._left_of_cap(role, drawn_on) / PICO for role in limits.usd_by_role}
        return Limits(
            None if limits.metric_calls is None else free.metric_calls,
            None if limits.usd is None else free.usd,
            None if limits.tokens is None else free.tokens,
            seconds,
            roles,
        )

    @property
    def usd_is_lower_bound(self) -> bool:
        """Whether a call whose price nobody knows was made."""
        return self._unpriced

    @property
    def finish_reason(self) -> str | None:
        """The reason of the first refusal outside every hold, such as `budget_metric_calls`; None before one."""
        return self._reason

    def _free(self) -> Exact:
        """What the limits leave outside reservations and holds; parts without a limit are meaningless."""
        limits = self.limits
        total = Exact(limits.metric_calls or 0, round((limits.usd or 0.0) * PICO), limits.tokens or 0)
        return total - self._spent - self._reserved - sum((hold.left for hold in self._holds.values()), NOTHING)

    def _held(self, name: str | None) -> Exact:
        """What is left of a hold; nothing where there is none."""
        return self._holds[name].left if name is not None and name in self._holds else NOTHING

    def _left_of_cap(self, role: str, drawn_on: str | None = None) -> int:
        """What a role's cap leaves outside all holds but the one that is drawn on; never below zero."""
        held = sum(hold.caps.get(role, 0) for name, hold in self._holds.items() if name != drawn_on)
        return max(round(self.limits.usd_by_role[role] * PICO) - self._pico_by_role.get(role, 0) - held, 0)

    def _fit(self, wanted: Exact, free: Exact) -> None:
        """Raise BudgetSpent for the first part of `wanted` that is not free; a part that is not wanted always fits."""
        limits = self.limits
        if limits.metric_calls is not None and wanted.metric_calls > max(free.metric_calls, 0):
            raise BudgetSpent("metric_calls", wanted.metric_calls, free.plain.metric_calls, limits.metric_calls)
        if limits.usd is not None and wanted.pico > max(free.pico, 0):
            raise BudgetSpent("usd", wanted.pico / PICO, free.plain.usd, limits.usd)
        if limits.tokens is not None and wanted.tokens > max(free.tokens, 0):
            raise BudgetSpent("tokens", wanted.tokens, free.plain.tokens, limits.tokens)

    def _fit_role(self, pico: int, role: str | None, drawn_on: str | None) -> None:
        if role is None or role not in self.limits.usd_by_role:
            return
        left = self._left_of_cap(role, drawn_on)
        if pico > left:
            raise BudgetSpent("usd", pico / PICO, left / PICO, self.limits.usd_by_role[role], role)

    def _reserve(
        self, count: int, each: Amounts, role: str | None, hold: str | None, *, unpriced: bool
    ) -> list[Reservation]:
        one, wanted = Exact.of(each), Exact.of(each, count)
        if hold is None:
            self.check()
        with self._lock:
            try:
                self._fit(wanted, self._free() + self._held(hold))
                self._fit_role(wanted.pico, role, hold)
            except BudgetSpent as spent:
                if hold is None:
                    self._reason = self._reason or spent.reason
                raise
            self._unpriced = self._unpriced or unpriced
            self._count_role(self._pico_by_role, role, wanted.pico)
            return [self._set_aside(one, role, hold) for _ in range(count)]

    def _set_aside(self, one: Exact, role: str | None, hold: str | None) -> Reservation:
        from_hold, from_cap = NOTHING, 0
        held = None if hold is None else self._holds.get(hold)
        if held is not None:
            from_hold = one.lesser(held.left)
            held.left -= from_hold
            if role in held.caps:
                from_cap = min(one.pico, held.caps[role])
                held.caps[role] -= from_cap
        self._reserved += one
        return Reservation(self, one, role, hold, from_hold, from_cap)

    def _close(self, reservation: Reservation, actual: Exact, *, unpriced: bool) -> None:
        with self._lock:
            if not reservation._open:
                raise ValueError("the reservation was settled or released before")
            reservation._open = False
            self._reserved -= reservation._exact
            self._spent += actual
            self._unpriced = self._unpriced or unpriced
            role = reservation._role
            self._count_role(self._pico_by_role, role, actual.pico - reservation._exact.pico)
            self._count_role(self._spent_by_role, role, actual.pico)
            # What the call did not use goes back to where it came from; a dropped hold takes nothing back.
            hold = None if reservation._hold is None else self._holds.get(reservation._hold)
            if hold is not None:
                hold.left += reservation._from_hold - reservation._from_hold.lesser(actual)
                if role in hold.caps:
                    hold.caps[role] += max(reservation._from_cap - actual.pico, 0)

    @staticmethod
    def _count_role(books: dict[str, int], role: str | None, pico: int) -> None:
        if role is not None:
            books[role] = books.get(role, 0) + pico


def _at_most(wanted: int, limit: float | None, free: int) -> int:
    """Return what there is of it; all where there is no limit."""
    return wanted if limit is None else max(min(wanted, free), 0)


class Purse:
    """Spends out of one hold, then out of what is free; a time limit does not stop it."""

    def __init__(self, budget: Budget, name: str) -> None:
        self._budget, self._name = budget, name

    @property
    def left(self) -> Amounts:
        """What is left of the hold."""
        with self._budget._lock:
            return self._budget._held(self._name).plain

    @property
    def remaining(self) -> Limits:
        """What a call that draws on the hold can still reserve; None where there is no limit."""
        return self._budget._remaining(self._name)

    def reserve(
        self, metric_calls: int = 0, usd: float | None = 0.0, tokens: int = 0, role: str | None = None
    ) -> Reservation:
        """Set an amount aside for a call. Raises BudgetSpent when it does not fit."""
        return self.reserve_each(1, metric_calls, usd, tokens, role)[0]

    def reserve_each(
        self, count: int, metric_calls: int = 0, usd: float | None = 0.0, tokens: int = 0, role: str | None = None
    ) -> list[Reservation]:
        """Set the amount aside for each of `count` calls, for all or for none. Raises BudgetSpent."""
        amounts = Amounts(metric_calls, usd or 0.0, tokens)
        return self._budget._reserve(count, amounts, role, self._name, unpriced=usd is None)
