"""The books of a run: one entry for every model call that was answered."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Literal

Role = Literal["task", "reflection", "metric"]
Payer = Role | Literal["target"]  # a model's role, or a target that spends dollars by itself
TARGET: Payer = "target"


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One answered call. Tokens are None when the provider did not report them, dollars when no price is known.

    `model` is the kind of a target. `latency_ms` is the successful attempt's alone; `at` is the end of the call in
    seconds since 1970.
    """

    role: Payer
    model: str
    prompt_tokens: int | None
    completion_tokens: int | None
    cost_usd: float | None
    latency_ms: float
    case: str | None
    version: str | None
    at: float


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over a role's calls. Tokens and dollars are lower bounds when `unmetered` or `unpriced` is above 0."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float = 0.0
    unmetered: int = 0
    unpriced: int = 0

    def plus(self, entry: LedgerEntry) -> Totals:
        """Return the totals with `entry` counted."""
        metered = entry.prompt_tokens is not None and entry.completion_tokens is not None
        return Totals(
            calls=self.calls + 1,
            prompt_tokens=self.prompt_tokens + (entry.prompt_tokens or 0),
            completion_tokens=self.completion_tokens + (entry.completion_tokens or 0),
            cost_usd=self.cost_usd + (entry.cost_usd or 0.0),
            unmetered=self.unmetered + (not metered),
            unpriced=self.unpriced + (entry.cost_usd is None),
        )


class Ledger:
    """Entries in the order of their end. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: list[LedgerEntry] = []
        self._totals: dict[Payer, Totals] = {}

    def append(self, entry: LedgerEntry) -> None:
        """Enter one call."""
        with self._lock:
            self._entries.append(entry)
            self._totals[entry.role] = self._totals.get(entry.role, Totals()).plus(entry)

    def entries(self) -> tuple[LedgerEntry, ...]:
        """Return all entries so far."""
        with self._lock:
            return tuple(self._entries)

    def totals(self) -> dict[Payer, Totals]:
        """Return the totals by role; a role without calls is absent."""
        with self._lock:
            return dict(self._totals)
