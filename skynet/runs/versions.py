"""The versions that a run's engine put forward, numbered in the order they came; 0 is the start."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert

from skynet.artifact import Artifact
from skynet.runs import schema
from skynet.runs.codec import decode, encode
from skynet.runs.store import RunRow, Store
from skynet.runs.writer import Then, Write, compile_statement


@dataclass(frozen=True, slots=True)
class StoredVersion:
    """A version as stored. `at` is seconds since 1970, UTC."""

    number: int
    id: str
    artifact: Artifact
    parent: str | None
    note: str
    at: float


class Versions:
    """The versions of one run."""

    def __init__(self, store: Store, run: RunRow) -> None:
        self._store, self._run = store, run.number
        table = schema.versions
        own = sa.bindparam("run", type_=sa.Integer)
        names = ("id", "kind", "content", "parent", "note", "at")
        number = sa.func.coalesce(sa.func.max(table.c.number) + sa.literal_column("1"), sa.literal_column("0"))
        values = sa.select(own, number, *(sa.bindparam(name, type_=table.c[name].type) for name in names))
        statement = insert(table).from_select(["run", "number", *names], values.where(table.c.run == own))
        self._insert = compile_statement(store.engine, statement.on_conflict_do_nothing(index_elements=["run", "id"]))

    def add(
        self,
        artifact: Artifact,
        parent: str | None,
        note: str,
        *,
        also: Sequence[Write] = (),
        then: Then | None = None,
    ) -> None:
        """Store a version; one that the run has stays as it is. `also` is committed with it.

        Durable on return; with `then` it does not wait: the writer's thread calls that after the commit.
        """
        row = {
            "run": self._run,
            "id": artifact.id,
            "kind": artifact.kind,
            "content": encode(artifact.content),
            "parent": parent,
            "note": encode(note),
            "at": time.time(),
        }
        writes = (Write(self._insert, self._insert.row(row)), *also)
        if then is None:
            self._store.writer.submit(*writes)
        else:
            self._store.writer.submit_later(*writes, then=then)

    def all(self) -> list[StoredVersion]:
        """Return the versions in the order of their numbers."""
        table = schema.versions
        columns = (table.c.number, table.c.id, table.c.kind, table.c.content, table.c.parent, table.c.note, table.c.at)
        query = sa.select(*columns).where(table.c.run == self._run).order_by(table.c.number)
        with self._store.read() as connection:
            rows = connection.execute(query).all()
        return [
            StoredVersion(number, id_, Artifact(kind, decode(content)), parent, decode(note), at)
            for number, id_, kind, content, parent, note, at in rows
        ]
