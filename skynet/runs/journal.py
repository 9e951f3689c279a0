"""What a run paid for: every evaluation and model call, stored as begun before it starts and as ended with its result.

The journal serves its own run. Its keys, and all but large results, are held in memory, so that a look-up touches no
SQL and costs the same at the first call and at the last.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sa

from skynet.errors import nearest
from skynet.runs import schema
from skynet.runs.codec import decode, encode, plain
from skynet.runs.store import RunRow, Store
from skynet.runs.writer import Statement, Then, Write, compile_statement

Kind = Literal["evaluation", "model"]

HELD_BYTES = 16 * 1024  # longer results are fetched from the store when asked for

_TABLES = {"evaluation": schema.evaluations, "model": schema.model_calls}
_BEGUN = {
    "evaluation": ("version", "case_id", "case_hash", "repetition", "split"),
    "model": ("version", "case_id", "role", "model", "scope"),
}
_ENDED = {
    "evaluation": ("status", "cost_usd", "failure", "score", "elapsed_ms"),
    "model": ("status", "cost_usd", "prompt_tokens", "completion_tokens", "latency_ms"),
}


@dataclass(frozen=True, slots=True)
class InFlight:
    """A request that was begun and whose process ended before it did. It stays charged at `reserved`."""

    kind: Kind
    key: str
    reserved: dict[str, Any]


class Journal:
    """The journal of one run, for the process that drives it and any number of its threads.

    Bodies hold what JSON can: tuples come back as lists, and keys as strings. Every call that writes returns after the
    commit or raises StoreError; then nothing of it is stored, and it may be tried again.
    """

    def __init__(self, store: Store, run: RunRow) -> None:
        self._shelves = {kind: _Shelf(store, run.number, kind) for kind in _TABLES}
        self._left = [
            InFlight(kind, key, reserved)  # type: ignore[arg-type]
            for kind, shelf in self._shelves.items()
            for key, reserved in shelf.left
        ]

    def get(self, kind: Kind, key: str) -> dict[str, Any] | None:
        """Return the body that the key ended with, a fresh copy; None when it has not ended."""
        return self._shelves[kind].get(key)

    def begin(
        self, kind: Kind, key: str, reserved: dict[str, Any], *, also: Sequence[Write] = (), **columns: Any
    ) -> None:
        """Store that the request starts, and the budget it holds. Raises ValueError when it is under way or ended.

        Columns of an evaluation: version, case_id, case_hash, repetition, split; of a model call: version, case_id,
        role, model, scope. `also` is committed together with it.
        """
        self._shelves[kind].begin({key: columns}, reserved, also, None)

    def begin_all(
        self, kind: Kind, requests: Mapping[str, Mapping[str, Any]], reserved: dict[str, Any], then: Then
    ) -> None:
        """Store that several requests start, all or none, each with its columns and holding `reserved`.

        It does not wait: the writer's thread calls `then` after the commit, or with the StoreError.
        """
        self._shelves[kind].begin(requests, reserved, (), then)

    def end(
        self,
        kind: Kind,
        key: str,
        body: dict[str, Any],
        *,
        also: Sequence[Write] = (),
        then: Then | None = None,
        **columns: Any,
    ) -> None:
        """Store the result of a request that was begun. Raises ValueError when it was not.

        Columns of an evaluation: status, cost_usd, failure, score, elapsed_ms; of a model call: status, cost_usd,
        prompt_tokens, completion_tokens, latency_ms.

        With `then` it does not wait: the writer's thread calls that after the commit, or with the StoreError.
        """
        self._shelves[kind].end(key, body, also, columns, then)

    def cancel(self, kind: Kind, key: str) -> None:
        """Forget a request that was begun and never sent, so that nothing stays charged for it."""
        self._shelves[kind].cancel(key)

    def leave(self, kind: Kind, key: str) -> None:
        """Leave a request in flight that was sent and will not be waited for: it stays charged as reserved."""
        self._shelves[kind].leave(key)

    def in_flight(self) -> list[InFlight]:
        """Return the requests that earlier attempts of the run began and never ended, in the order they began."""
        return list(self._left)

    def entries(self, kind: Kind) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield key and body of all that ended before this call: earlier attempts' in order, then by their end."""
        shelf = self._shelves[kind]
        for key in list(shelf.ended):
            body = shelf.get(key)
            assert body is not None
            yield key, body

    def count(self, kind: Kind) -> int:
        """Return how many requests of this kind ended."""
        return len(self._shelves[kind].ended)


class _Shelf:
    """One kind of request. `ended` holds the encoded body, or the row's number where the body is long."""

    def __init__(self, store: Store, run: int, kind: str) -> None:
        self._store, self._run, self._kind = store, run, kind
        self._table = table = _TABLES[kind]
        self._begun_columns, self._ended_columns = frozenset(_BEGUN[kind]), frozenset(_ENDED[kind])
        own = sa.and_(table.c.run == sa.bindparam("own_run"), table.c.seq == sa.bindparam("own_seq"))
        first = ("run", "seq", "key", "reserved", "begun_at", *_BEGUN[kind])
        self._insert = compile_statement(store.engine, table.insert(), first)
        self._update = compile_statement(store.engine, table.update().where(own), ("body", "ended_at", *_ENDED[kind]))
        self._delete = compile_statement(store.engine, table.delete().where(own))
        self.ended: dict[str, str | int] = {}
        self.left: list[tuple[str, dict[str, Any]]] = []
        self._open: dict[str, int] = {}
        self._numbers = itertools.count(self._load() + 1)

    def _load(self) -> int:
        """Read what earlier attempts left; return the last row's number."""
        table, last = self._table, 0
        body = sa.case((sa.func.length(table.c.body) <= HELD_BYTES, table.c.body))
        query = sa.select(table.c.seq, table.c.key, table.c.ended_at, table.c.reserved, body)
        with self._store.read() as connection:
            for seq, key, ended_at, reserved, text in connection.execute(
                query.where(table.c.run == self._run).order_by(table.c.seq)
            ):
                last = seq
                if ended_at is None:
                    self.left.append((key, decode(reserved)))
                else:
                    self.ended[key] = seq if text is None else text
        return last

    def get(self, key: str) -> dict[str, Any] | None:
        held = self.ended.get(key)
        if held is None:
            return None
        body: dict[str, Any] = decode(held if isinstance(held, str) else self._fetch(held))
        return body

    def _fetch(self, seq: int) -> str:
        table = self._table
        with self._store.read() as connection:
            text = connection.scalar(sa.select(table.c.body).where(table.c.run == self._run, table.c.seq == seq))
        assert isinstance(text, str)
        return text

    def begin(
        self,
        requests: Mapping[str, Mapping[str, Any]],
        reserved: dict[str, Any],
        also: Sequence[Write],
        then: Then | None,
    ) -> None:
        shared = {"run": self._run, "reserved": encode(reserved), "begun_at": time.time()}
        taken: list[str] = []
        writes = list(also)

        try:
            for key, columns in requests.items():
                row = self._row(columns, self._begun_columns) | shared
                row |= {"key": key, "seq": self._take(key)}
                taken.append(key)
                writes.append(_write(self._insert, row))
            if then is None:
                self._store.writer.submit(*writes)
            else:
                self._store.writer.submit_later(*writes, then=self._forgetting(taken, then))
        except BaseException:
            self._forget(taken)
            raise

    def _forget(self, keys: Sequence[str]) -> None:
        for key in keys:
            del self._open[key]

    def _forgetting(self, keys: Sequence[str], then: Then) -> Then:
        def stored(error: BaseException | None) -> None:
            if error is not None:
                self._forget(keys)
            then(error)

        return stored

    def _take(self, key: str) -> int:
        seq = next(self._numbers)
        if key in self.ended or self._open.setdefault(key, seq) != seq:
            state = "has ended" if key in self.ended else "is under way"
            raise ValueError(f"the {self._kind} {key!r} was begun twice; the first one {state}")
        return seq

    def end(
        self, key: str, body: dict[str, Any], also: Sequence[Write], columns: dict[str, Any], then: Then | None
    ) -> None:
        seq = self._number(key)
        row = self._row(columns, self._ended_columns)
        text = encode(body)
        row |= {"own_run": self._run, "own_seq": seq, "body": text, "ended_at": time.time()}
        held = text if len(text) <= HELD_BYTES else seq
        if then is None:
            self._store.writer.submit(_write(self._update, row), *also)
            self._close(key, held)
            return

        def stored(error: BaseException | None) -> None:
            if error is None:
                self._close(key, held)
            then(error)

        self._store.writer.submit_later(_write(self._update, row), *also, then=stored)

    def _close(self, key: str, held: str | int) -> None:
        self.ended[key] = held
        del self._open[key]

    def cancel(self, key: str) -> None:
        self._store.writer.submit(_write(self._delete, {"own_run": self._run, "own_seq": self._number(key)}))
        del self._open[key]

    def leave(self, key: str) -> None:
        self._number(key)
        del self._open[key]

    def _number(self, key: str) -> int:
        if key not in self._open:
            raise ValueError(f"the {self._kind} {key!r} is not under way; begin it first")
        return self._open[key]

    def _row(self, columns: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any]:
        if not columns.keys() <= known:
            name = next(iter(columns.keys() - known))
            raise ValueError(f"the {self._kind} has no column {name!r} at this point.{nearest(name, known)}")
        return {name: plain(value) for name, value in columns.items()}


def _write(statement: Statement, row: dict[str, Any]) -> Write:
    return Write(statement, statement.row(row))
