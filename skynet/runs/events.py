"""What happened in a run, one after another: the stream that the live view, `runs watch` and the report all read."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, get_args

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert

from skynet.errors import nearest
from skynet.runs import schema
from skynet.runs.codec import decode, encode, plain
from skynet.runs.store import RunRow, Store
from skynet.runs.writer import Write, compile_statement

EventKind = Literal["proposed", "accepted", "rejected", "evaluated", "lane", "state", "budget"]


@dataclass(frozen=True, slots=True)
class Event:
    """One event. `seq` grows by one within a run, in the order of the commits; `at` is seconds since 1970, UTC."""

    seq: int
    at: float
    kind: EventKind
    version: str | None
    reason: str | None
    details: dict[str, Any]

    def as_json(self) -> dict[str, Any]:
        """Return the event as `runs show --json` prints it, the time in ISO 8601."""
        at = datetime.fromtimestamp(self.at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        first = {"seq": self.seq, "at": at, "kind": self.kind, "version": self.version, "reason": self.reason}
        return {**self.details, **first}


class Events:
    """The stream of one run; events are only ever appended. `redact` takes keys out of the words of each."""

    def __init__(self, store: Store, run: RunRow, redact: Callable[[str], str] = str) -> None:
        self._store, self._run, self._redact = store, run.number, redact
        table = schema.events
        own = sa.bindparam("run", type_=sa.Integer)
        names = ("at", "kind", "version", "reason", "details", "key")
        # The number is given inside the writing transaction, so that two processes never give the same one.
        number = sa.func.coalesce(sa.func.max(table.c.seq) + sa.literal_column("1"), sa.literal_column("1"))
        values = sa.select(own, number, *(sa.bindparam(name, type_=table.c[name].type) for name in names))
        statement = insert(table).from_select(["run", "seq", *names], values.where(table.c.run == own))
        self._insert = compile_statement(store.engine, statement.on_conflict_do_nothing(index_elements=["run", "key"]))

    def append(
        self,
        kind: EventKind,
        *,
        version: str | None = None,
        reason: str | None = None,
        key: str | None = None,
        **details: Any,
    ) -> None:
        """Store an event, durable on return. An event whose `key` this run already has is not stored again.

        The key is what makes a replay append nothing: give one wherever the same event comes up again at a resume.
        """
        self._store.writer.submit(self.write(kind, version=version, reason=reason, key=key, **details))

    def write(
        self,
        kind: EventKind,
        *,
        version: str | None = None,
        reason: str | None = None,
        key: str | None = None,
        **details: Any,
    ) -> Write:
        """Return the event as a row to commit together with others."""
        if kind not in get_args(EventKind):
            raise ValueError(f"there is no event kind {kind!r}.{nearest(kind, get_args(EventKind))}")
        row = {
            "run": self._run,
            "at": time.time(),
            "kind": kind,
            "version": plain(version),
            "reason": None if reason is None else encode(self._redact(reason)),
            "details": encode(details if kind == "evaluated" else self._redacted(details)),  # figures and a case's name
            "key": plain(key),
        }
        return Write(self._insert, self._insert.row(row))

    def _redacted(self, details: dict[str, Any]) -> dict[str, Any]:
        return {name: self._redact(value) if isinstance(value, str) else value for name, value in details.items()}

    def read(self, after: int = 0) -> list[Event]:
        """Return the events whose `seq` is above `after`, in order."""
        table = schema.events
        columns = (table.c.seq, table.c.at, table.c.kind, table.c.version, table.c.reason, table.c.details)
        query = sa.select(*columns).where(table.c.run == self._run, table.c.seq > after).order_by(table.c.seq)
        with self._store.read() as connection:
            rows = connection.execute(query).all()
        return [
            Event(seq, at, kind, version, None if reason is None else decode(reason), decode(details))
            for seq, at, kind, version, reason, details in rows
        ]
