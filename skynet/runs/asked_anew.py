"""A run that a provider's failure ended goes on where it failed: its last failures are kept, and asked anew."""

from __future__ import annotations

import sqlalchemy as sa

from skynet.runs import schema
from skynet.runs.store import RunRow, Store

_ASIDE = "-failed-"  # in the key of what was set aside


def ask_failures_anew(store: Store, row: RunRow) -> int:
    """Have the next attempt of a failed run ask again for what failed after the last success of its kind.

    The rows stay, as what was spent on them does, under keys that nobody asks for. Earlier failures, which the search
    got over, are told again; nothing got over those of a check that failed. Returns how many requests and evaluations
    that are.
    """
    if row.status != "failed":
        return 0
    return store.writer.run(lambda connection: _set_aside(connection, row.number))


def _set_aside(connection: sa.Connection, run: int) -> int:
    table, calls = schema.evaluations, schema.model_calls
    own = sa.and_(table.c.run == run, table.c.ended_at.is_not(None), _not_aside(table))
    failed = table.c.failure == "provider"
    last = sa.select(sa.func.max(table.c.seq)).where(own, table.c.failure.is_distinct_from("provider"))
    checked = sa.exists().where(schema.versions.c.run == run)
    lost = sa.and_(own, failed, sa.or_(~checked, table.c.seq > sa.func.coalesce(last.scalar_subquery(), 0)))
    keys = list(connection.scalars(sa.select(table.c.key).where(lost)))
    number = 0
    for role in connection.scalars(sa.select(calls.c.role).where(calls.c.run == run).distinct()).all():
        asked = sa.and_(calls.c.run == run, calls.c.role == role)
        answered = sa.select(sa.func.max(calls.c.seq)).where(asked, calls.c.status == "ok")
        after = calls.c.seq > sa.func.coalesce(answered.scalar_subquery(), 0)
        theirs = sa.or_(after, calls.c.scope.in_(keys))
        number += _rename(connection, calls, sa.and_(asked, calls.c.status == "failed", theirs, _not_aside(calls)))
    return number + _rename(connection, table, lost)


def _not_aside(table: sa.Table) -> sa.ColumnElement[bool]:
    """Leave out what an earlier attempt set aside: nobody asks for it, and it keeps the key it got then."""
    return ~table.c.key.contains(_ASIDE)


def _rename(connection: sa.Connection, table: sa.Table, which: sa.ColumnElement[bool]) -> int:
    new = table.c.key + sa.literal(_ASIDE) + sa.cast(table.c.seq, sa.Text)
    return connection.execute(table.update().where(which).values(key=new)).rowcount
