"""The store of a project: its runs, and the way to read and write everything that belongs to one."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

import sqlalchemy as sa

from skynet.errors import SkynetError, nearest
from skynet.runs import schema
from skynet.runs.codec import decode, encode, plain
from skynet.runs.fault import explain, store_error
from skynet.runs.lock import RunDriven, RunLock, is_driven
from skynet.runs.opening import open_engine
from skynet.runs.writer import Writer

MOST_VALUES = 10_000  # in one query; SQLite takes 32,766

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_JSON = ("spec", "fingerprint", "state", "result")
_CHANGEABLE = ("fingerprint", "state", "status", "finish_reason", "ended_at", "result")


class RunNotFound(SkynetError):
    """No run of this store has the id, or several begin with it."""


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run as stored. `status` is `interrupted` when the row says running and no live process drives it."""

    number: int
    id: str
    name: str
    spec: dict[str, Any]
    fingerprint: dict[str, Any]
    state: dict[str, Any]
    status: str
    finish_reason: str | None
    started_at: float
    ended_at: float | None
    result: dict[str, Any] | None


def new_run_id(at: float) -> str:
    """Return an id such as `20261130-c5k2x7`: the UTC date, the tenth of a second in the day, two random digits."""
    tenths = int(at * 10) % 864_000
    digits = [_DIGITS[tenths // 36**place % 36] for place in (3, 2, 1, 0)]
    noise = [secrets.choice(_DIGITS) for _ in range(2)]
    return time.strftime("%Y%m%d-", time.gmtime(at)) + "".join(digits + noise)


class Store:
    """The SQLite file of one project, usually `.skynet/skynet.db`. Raises StoreError when it cannot be used.

    Any number of threads and processes may hold it. `create=False` refuses when there is no file yet; `busy_seconds`
    is how long a write waits for another program's lock.
    """

    def __init__(self, path: Path, *, create: bool = True, busy_seconds: float = 30.0) -> None:
        self.path = path.absolute()
        self.engine = open_engine(self.path, create=create, busy_seconds=busy_seconds)
        self._writer: Writer | None = None
        self._lock = threading.Lock()

    @property
    def folder(self) -> Path:
        """The folder that holds the store and the runs' lock files."""
        return self.path.parent

    @property
    def writer(self) -> Writer:
        """The process's writer for this store, started on first use."""
        with self._lock:
            if self._writer is None:
                self._writer = Writer(self.engine, self.path)
            return self._writer

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """Open a connection that sees one state of the store; errors of the database come out as StoreError."""
        try:
            with self.engine.connect() as connection, connection.begin():
                yield connection
        except sa.exc.SQLAlchemyError as error:
            raise explain(error, self.path) from error

    def start_run(
        self,
        name: str,
        spec: dict[str, Any],
        fingerprint: dict[str, Any],
        state: dict[str, Any] | None = None,
        also: Callable[[sa.Connection, int], object] | None = None,
    ) -> tuple[RunRow, RunLock]:
        """Store a new run with status running, durable on return, and the lock that makes this process its driver.

        `also` is called with the run's number in the transaction that stores the row.
        """
        at = time.time()
        row = {
            "name": plain(name),
            "spec": encode(spec),
            "fingerprint": encode(fingerprint),
            "state": encode(state or {}),
            "status": "running",
            "started_at": at,
        }
        while True:
            run = new_run_id(at)
            try:
                lock = RunLock(self.folder, run)  # before the row: a running run without a driver looks interrupted
            except RunDriven:
                continue  # another process took this id a moment ago
            try:
                if self.writer.run(partial(_insert_run, row={"id": run, **row}, also=also)):
                    return self.run(run), lock
            except BaseException:
                lock.release(remove=True)
                raise
            lock.release()

    def update_run(self, run: str, **changes: Any) -> None:
        """Change the run's row: fingerprint, state, status, finish_reason, ended_at, result. Durable on return."""
        for name in changes:
            if name not in _CHANGEABLE:
                raise ValueError(f"a run has no changeable column {name!r}.{nearest(name, _CHANGEABLE)}")
        values = {
            name: encode(value) if name in _JSON and value is not None else plain(value)
            for name, value in changes.items()
        }
        update = schema.runs.update().where(schema.runs.c.id == run).values(values)
        if not self.writer.run(lambda connection: connection.execute(update).rowcount):
            raise self._not_found(run)

    def run(self, run: str) -> RunRow:
        """Return the run with this id, or the only one whose id begins so. Raises RunNotFound."""
        query = sa.select(schema.runs).where(schema.runs.c.id.startswith(run, autoescape=True)).limit(100)
        with self.read() as connection:
            found = connection.execute(query).mappings().all()
        exact = [row for row in found if row["id"] == run]
        if exact or (run and len(found) == 1):
            return self._row((exact or found)[0])
        if run and found:
            raise RunNotFound(f"{len(found)} runs begin with {run!r}: {', '.join(row['id'] for row in found[:5])}")
        raise self._not_found(run)

    def runs(self) -> list[RunRow]:
        """Return all runs, newest first."""
        with self.read() as connection:
            found = connection.execute(sa.select(schema.runs).order_by(schema.runs.c.number.desc())).mappings().all()
        return [self._row(row) for row in found]

    def delete_run(self, run: str) -> None:
        """Remove the run, everything stored under it, and its log. Raises RunDriven while a process drives it."""
        row = self.run(run)
        with RunLock(self.folder, row.id) as lock:
            self.writer.run(lambda connection: _delete_run(connection, row.number))
            for ending in ("log", "cancel"):  # what `submit` and `runs cancel` write beside the lock
                lock.path.with_suffix(f".{ending}").unlink(missing_ok=True)
            lock.release(remove=True)

    def rows(self, run: str, table: sa.Table) -> Iterator[dict[str, Any]]:
        """Yield the run's rows of a table of `schema`, as stored, in the order of its primary key."""
        query = sa.select(table).where(table.c.run == self.run(run).number).order_by(*table.primary_key.columns)
        with self.read() as connection:
            for row in connection.execution_options(yield_per=500).execute(query).mappings():
                yield dict(row)

    def times_tested(self, case_hashes: Collection[str]) -> int:
        """Count the runs of this store that scored any of these cases in the split `test`."""
        table, hashes, found = schema.evaluations, list(case_hashes), set[int]()
        test = table.c.split == sa.literal_column("'test'")  # the literal that the partial index is made for
        query = sa.select(table.c.run).distinct().where(test, table.c.ended_at.is_not(None))
        with self.read() as connection:
            for start in range(0, len(hashes), MOST_VALUES):
                found.update(
                    connection.scalars(query.where(table.c.case_hash.in_(hashes[start : start + MOST_VALUES])))
                )
        return len(found)

    def close(self) -> None:
        """Store what waits and let go of the file."""
        with self._lock:
            writer = self._writer
        if writer is not None:
            writer.close()
        self.engine.dispose()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _row(self, stored: sa.RowMapping) -> RunRow:
        try:
            values = {name: decode(v) if name in _JSON and v is not None else v for name, v in stored.items()}
        except ValueError as error:
            raise store_error(self.path, "damaged", f"the row of run {stored['id']} is no JSON: {error}") from None
        if values["status"] == "running" and not is_driven(self.folder, values["id"]):
            values["status"] = "interrupted"
        return RunRow(**values)

    def _not_found(self, run: str) -> RunNotFound:
        with self.read() as connection:
            ids = connection.scalars(sa.select(schema.runs.c.id)).all()
        known = nearest(run, ids) or f" It holds {len(ids)} run{'' if len(ids) == 1 else 's'}; see `skynet runs list`."
        return RunNotFound(f"store {self.path} has no run {run!r}.{known}")


def _insert_run(
    connection: sa.Connection, row: dict[str, Any], also: Callable[[sa.Connection, int], object] | None
) -> bool:
    """Insert the row and what goes with it, unless its id is taken; return whether it was inserted."""
    if connection.scalar(sa.select(schema.runs.c.number).where(schema.runs.c.id == row["id"])) is not None:
        return False
    connection.execute(schema.runs.insert().values(row))
    number = connection.scalar(sa.select(schema.runs.c.number).where(schema.runs.c.id == row["id"]))
    if also is not None and number is not None:
        also(connection, number)
    return True


def _delete_run(connection: sa.Connection, number: int) -> None:
    for table in schema.OF_A_RUN:
        connection.execute(table.delete().where(table.c.run == number))
    connection.execute(schema.runs.delete().where(schema.runs.c.number == number))
