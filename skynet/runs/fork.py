"""Starting a run from another one's journal: what is still valid there is free here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from skynet.data.dataset import Dataset
from skynet.runs import schema
from skynet.runs.codec import encode
from skynet.runs.fingerprint import evaluation_scope
from skynet.runs.money import History
from skynet.runs.store import MOST_VALUES, RunRow, Store

FORKED = encode({"forked": True})  # what stands in place of a reservation: nothing was paid for the row in this run
_ASKED_ANEW = "-failed-"  # what a failed row's key goes on with, once a resume asks for it anew


@dataclass(frozen=True, slots=True)
class Fork:
    """What a new run takes over of `source`: evaluations of its own scope, on cases whose content it still has."""

    source: RunRow
    scope: str
    contents: frozenset[str]

    def copy(self, connection: sa.Connection, target: int) -> int:
        """Copy what is valid, within the caller's transaction; return how many evaluations that are.

        Test and failed evaluations are left out, and so are the model calls of every evaluation that is.
        """
        table, calls = schema.evaluations, schema.model_calls
        of_source = table.c.run == self.source.number
        every = sa.select(table.c.key, table.c.seq, table.c.case_hash, table.c.split, table.c.failure, table.c.ended_at)
        rows = connection.execute(every.where(of_source)).all()
        valid = {row.key: row.seq for row in rows if self._is_valid(row)}
        _copy(connection, table, self.source.number, target, list(valid.values()))
        left_out = {row.key.partition(_ASKED_ANEW)[0] for row in rows} - valid.keys()
        ended = sa.select(calls.c.seq, calls.c.scope).where(
            calls.c.run == self.source.number, calls.c.status == "ok", calls.c.ended_at.is_not(None)
        )
        kept = [seq for seq, scope in connection.execute(ended) if scope not in left_out]
        _copy(connection, calls, self.source.number, target, kept)
        return len(valid)

    def _is_valid(self, row: Any) -> bool:
        if row.ended_at is None or row.failure is not None or row.split == "test":
            return False
        return evaluation_scope(self.source.fingerprint) == self.scope and row.case_hash in self.contents


def fork_of(source: RunRow, marks: Mapping[str, Any], data: Dataset) -> Fork:
    """Return what a run with these marks takes over of `source`."""
    contents = {case.content_hash for case in (*data.train, *data.val)}
    if source.fingerprint["data"] != marks["data"]:  # equal rows are numbered: one that was val's may be test's now
        contents -= {case.content_hash for case in data.test}
    return Fork(source, evaluation_scope(marks), frozenset(contents))


def _copy(connection: sa.Connection, table: sa.Table, source: int, target: int, chosen: Sequence[int]) -> None:
    replaced: dict[str, sa.ColumnElement[Any]] = {"run": sa.literal(target), "reserved": sa.literal(FORKED)}
    columns: list[sa.ColumnElement[Any]] = [replaced.get(column.name, column) for column in table.c]
    for start in range(0, len(chosen), MOST_VALUES):
        part = table.c.seq.in_(chosen[start : start + MOST_VALUES])
        rows = sa.select(*columns).where(table.c.run == source, part)
        connection.execute(table.insert().from_select([column.name for column in table.c], rows))


def forked_keys(store: Store, row: RunRow) -> frozenset[str]:
    """Return the keys of the evaluations that a run took over."""
    table = schema.evaluations
    query = sa.select(table.c.key).where(table.c.run == row.number, table.c.reserved == FORKED)
    with store.read() as connection:
        return frozenset(connection.scalars(query))


def forked_sentence(row: RunRow, history: History) -> str:
    """Return how many results a run took over, in one sentence; empty where it is no fork."""
    source = row.state.get("forked")
    if source is None:
        return ""
    count = len(history.forked)
    return f"Forked from {source}: {count} result{'' if count == 1 else 's'} taken over."
