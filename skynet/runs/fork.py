"""Starting a run from another one's journal: what is still valid there is free here."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from skynet.runs import schema
from skynet.runs.codec import encode
from skynet.runs.store import RunRow, Store

FORKED = encode({"forked": True})  # what stands in place of a reservation: nothing was paid for the row in this run


def copy_valid(store: Store, source: RunRow, target: RunRow) -> int:
    """Copy what ended well, test evaluations and their model calls excepted; return how many evaluations that are.

    A key names everything that a result depends on, so a row that is not valid any more is never asked for.
    """
    table = schema.evaluations
    valid = sa.and_(table.c.failure.is_(None), table.c.split != "test")
    copied = store.writer.run(lambda connection: _copy(connection, table, source.number, target.number, valid))
    calls = schema.model_calls
    tests = sa.select(table.c.key).where(table.c.run == source.number, table.c.split == "test")
    ok = sa.and_(calls.c.status == "ok", calls.c.scope.not_in(tests))
    store.writer.run(lambda connection: _copy(connection, calls, source.number, target.number, ok))
    return copied


def _copy(connection: sa.Connection, table: sa.Table, source: int, target: int, valid: sa.ColumnElement[bool]) -> int:
    replaced: dict[str, sa.ColumnElement[Any]] = {"run": sa.literal(target), "reserved": sa.literal(FORKED)}
    columns: list[sa.ColumnElement[Any]] = [replaced.get(column.name, column) for column in table.c]
    chosen = sa.select(*columns).where(table.c.run == source, table.c.ended_at.is_not(None), valid)
    return connection.execute(table.insert().from_select([column.name for column in table.c], chosen)).rowcount


def forked_keys(store: Store, row: RunRow) -> frozenset[str]:
    """Return the keys of the evaluations that a run took over."""
    table = schema.evaluations
    query = sa.select(table.c.key).where(table.c.run == row.number, table.c.reserved == FORKED)
    with store.read() as connection:
        return frozenset(connection.scalars(query))
