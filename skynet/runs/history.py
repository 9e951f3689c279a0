"""What earlier attempts of a run paid, read from its journal."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from skynet.evaluation.amounts import Amounts
from skynet.models.ledger import TARGET, LedgerEntry
from skynet.runs import schema
from skynet.runs.books import RunBooks
from skynet.runs.codec import decode
from skynet.runs.fork import FORKED, forked_keys
from skynet.runs.money import History
from skynet.runs.store import RunRow, Store


def history_of(store: Store, row: RunRow, books: RunBooks) -> History:
    """Return what the run paid so far, and what was in flight when its driver ended."""
    forked = forked_keys(store, row)
    rows = store.rows(row.id, schema.model_calls)
    calls = [entry for entry in rows if entry["ended_at"] is not None and entry["reserved"] != FORKED]
    paid = [call for call in calls if call["status"] == "ok"]
    entries = tuple(_entry(call) for call in paid)
    metric_calls, tested = _evaluations(store, row, books, forked)
    flying = books.journal.in_flight()
    by_role: dict[str, float] = {}
    for call in paid:
        by_role[call["role"]] = by_role.get(call["role"], 0.0) + _charged(call)
    for request in flying:
        if request.reserved.get("role"):
            role = request.reserved["role"]
            by_role[role] = by_role.get(role, 0.0) + (request.reserved.get("usd") or 0.0)
    return History(
        paid=Amounts(
            metric_calls,
            sum(_charged(call) for call in paid),
            sum((entry.prompt_tokens or 0) + (entry.completion_tokens or 0) for entry in entries),
        ),
        by_role=by_role,
        entries=entries,
        in_flight=Amounts(
            sum(int(request.reserved.get("metric_calls", 0)) for request in flying),
            sum(request.reserved.get("usd") or 0.0 for request in flying),
            sum(int(request.reserved.get("tokens", 0)) for request in flying),
        ),
        in_flight_requests=len({(one.kind, one.key) for one in flying if books.journal.get(one.kind, one.key) is None}),
        active_seconds=float(row.state.get("active_seconds", 0.0)),
        tested=tested,
        resumed=True,
        forked=forked,
    )


def paid_again(store: Store, row: RunRow) -> str:
    """Return what was paid again, since it was in flight when an attempt ended, in one sentence; empty for nothing.

    Such a request has a row without an end, which stays charged, and one that ended.
    """
    told = []
    for table, name in ((schema.evaluations, "evaluation"), (schema.model_calls, "model call")):
        own = table.c.run == row.number
        ended = sa.select(table.c.key).where(own, table.c.ended_at.is_not(None))
        twice = sa.select(sa.func.count()).where(own, table.c.ended_at.is_(None), table.c.key.in_(ended))
        with store.read() as connection:
            count = connection.scalar(twice) or 0
        if count:
            told.append(f"{count} {name}{'' if count == 1 else 's'}")
    again = " and ".join(told)
    return f"Paid again, since in flight when an attempt ended: {again}. Both times are charged." if told else ""


def _evaluations(store: Store, row: RunRow, books: RunBooks, forked: frozenset[str]) -> tuple[int, int]:
    """Return the metric calls that were made, and how many of them on test cases."""
    table = schema.evaluations
    query = sa.select(table.c.key).where(
        table.c.run == row.number, table.c.split == "test", table.c.ended_at.is_not(None)
    )
    with store.read() as connection:
        tests = set(connection.scalars(query))
    made, tested = 0, 0
    for key, body in books.journal.entries("evaluation"):
        if key in forked:
            continue
        called = body.get("metric_called", False)
        made += called
        tested += called and key in tests
    return made, tested


def _charged(call: dict[str, Any]) -> float:
    """Return the dollars charged for a call: a target's that did not report its cost stays charged as reserved."""
    if call["cost_usd"] is None and call["role"] == TARGET:
        return float(decode(call["reserved"]).get("usd") or 0.0)
    return float(call["cost_usd"] or 0.0)


def _entry(call: dict[str, Any]) -> LedgerEntry:
    return LedgerEntry(
        role=call["role"],
        model=call["model"],
        prompt_tokens=call["prompt_tokens"],
        completion_tokens=call["completion_tokens"],
        cost_usd=call["cost_usd"],
        latency_ms=call["latency_ms"] or 0.0,
        case=call["case_id"],
        version=call["version"],
        at=call["ended_at"],
    )
