"""What one evaluation costs its models, read from the journal: the same in a resumed run as in the first attempt."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import sqlalchemy as sa

from skynet.runs import schema
from skynet.runs.codec import decode
from skynet.runs.fork import FORKED
from skynet.runs.store import RunRow, Store


@dataclass(frozen=True, slots=True)
class CaseCost:
    """One model role in one evaluation: dollars and tokens of the dearest one, and the most that a call set aside."""

    usd: float = 0.0
    tokens: int = 0
    call_usd: float = 0.0
    call_tokens: int = 0

    def or_more(self, other: CaseCost) -> CaseCost:
        """Return the larger of the two in each amount."""
        return CaseCost(
            max(self.usd, other.usd),
            max(self.tokens, other.tokens),
            max(self.call_usd, other.call_usd),
            max(self.call_tokens, other.call_tokens),
        )

    def with_call(self, other: CaseCost) -> CaseCost:
        """Return the cost with one more call of the same evaluation."""
        most = self.or_more(other)
        return CaseCost(self.usd + other.usd, self.tokens + other.tokens, most.call_usd, most.call_tokens)


CaseCosts = Mapping[str, CaseCost]  # by model role


class CostBook:
    """The costs of one run's evaluations. A model without a price costs nothing here."""

    def __init__(self, store: Store, run: RunRow) -> None:
        self._store, self._run = store, run.number

    def of_evaluations(self, keys: Collection[str]) -> CaseCosts:
        """Return the dearest of these evaluations, for each role."""
        return self._dearest(schema.model_calls.c.scope.in_(list(keys)))

    def of_version(self, version: str) -> CaseCosts:
        """Return the dearest of all evaluations of a version, for each role."""
        table = schema.evaluations
        keys = sa.select(table.c.key).where(table.c.run == self._run, table.c.version == version)
        return self._dearest(schema.model_calls.c.scope.in_(keys))

    def spent(self) -> tuple[dict[str, float], int]:
        """Return the dollars by role and the tokens of all calls that were answered in this run by now."""
        usd: dict[str, float] = {}
        tokens = 0
        for _, role, cost in self._calls(schema.model_calls.c.reserved != FORKED):
            usd[role] = usd.get(role, 0.0) + cost.usd
            tokens += cost.tokens
        return usd, tokens

    def _dearest(self, chosen: sa.ColumnElement[bool]) -> CaseCosts:
        sums: dict[tuple[str, str], CaseCost] = {}
        for scope, role, cost in self._calls(chosen):
            sums[role, scope] = sums.get((role, scope), CaseCost()).with_call(cost)
        found: dict[str, CaseCost] = {}
        for (role, _), cost in sums.items():
            found[role] = cost.or_more(found.get(role, CaseCost()))
        return found

    def _calls(self, chosen: sa.ColumnElement[bool]) -> Iterator[tuple[str, str, CaseCost]]:
        """Yield evaluation, role and cost of the calls that ended."""
        table = schema.model_calls
        tokens = sa.func.coalesce(table.c.prompt_tokens, 0) + sa.func.coalesce(table.c.completion_tokens, 0)
        columns = (table.c.scope, table.c.role, table.c.reserved, table.c.cost_usd, tokens)
        query = sa.select(*columns).where(table.c.run == self._run, table.c.ended_at.is_not(None), chosen)
        with self._store.read() as connection:
            for scope, role, reserved, usd, used in connection.execute(query):
                # What a forked call set aside in its own run is not known: it was at least what it cost.
                bound, cost = decode(reserved), usd or 0.0
                yield (
                    scope,
                    role,
                    CaseCost(cost, used, max(bound.get("usd") or 0.0, cost), max(bound.get("tokens", 0), used)),
                )
