"""The one thread of a process that writes to the store. It commits in groups: what waits together goes together."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa

from skynet.runs.fault import Cause, StoreError, explain, store_error

T = TypeVar("T")
Row = tuple[Any, ...]
Then = Callable[[BaseException | None], None]


@dataclass(frozen=True, slots=True, eq=False)
class Statement:
    """A statement compiled once; `order` names the values of a row in their places."""

    sql: str
    order: tuple[str, ...]

    def row(self, values: dict[str, Any]) -> Row:
        """Return the values in order, None for those that are not given."""
        return tuple([values.get(name) for name in self.order])


@dataclass(frozen=True, slots=True)
class Write:
    """One row for one statement."""

    statement: Statement
    row: Row


def compile_statement(
    engine: sa.Engine, statement: sa.Insert | sa.Update | sa.Delete, columns: Sequence[str] | None = None
) -> Statement:
    """Compile for the engine's dialect; `columns` names what an insert fills or an update sets."""
    compiled = statement.compile(engine, column_keys=list(columns) if columns is not None else None)
    if not isinstance(compiled, sa.sql.compiler.SQLCompiler) or compiled.positiontup is None:
        raise TypeError("the dialect does not number its parameters")
    if fixed := [name for name, bind in compiled.binds.items() if not bind.required]:
        raise ValueError(f"the statement holds values of its own: {fixed}; write them as literal columns")
    return Statement(str(compiled), tuple(compiled.positiontup))


@dataclass(slots=True, eq=False)
class _Job:
    """What a caller waits for. `done` starts locked; the writer unlocks it, and calls `then`."""

    writes: tuple[Write, ...] = ()
    work: Callable[[sa.Connection], Any] | None = None
    then: Then | None = None
    done: threading.Lock = field(default_factory=threading.Lock)
    error: BaseException | None = None
    result: Any = None
    finished: bool = False

    def __post_init__(self) -> None:
        self.done.acquire()

    def finish(self, error: BaseException | None) -> None:
        self.error, self.finished = error, True
        self.done.release()
        if self.then is not None:
            self.then(error)


class Writer:
    """Stores rows for any number of threads.

    A failed commit is rolled back and raised in every caller whose rows were in it; the next one is tried afresh, so
    a full disk or a lock that goes away ends nothing. A store that was deleted or replaced is given up for good: every
    later call raises.
    """

    def __init__(self, engine: sa.Engine, path: Path) -> None:
        self._engine = engine
        self._path = path
        stat = path.stat()
        self._identity = (stat.st_dev, stat.st_ino)
        self._lock = threading.Lock()
        self._pending: list[_Job] = []
        self._taken: list[_Job] = []  # those that the thread is storing
        self._idle = False
        self._wake = threading.Lock()
        self._wake.acquire()
        self._ended: Cause | None = None  # why no job is taken any more
        self._thread = threading.Thread(target=self._serve, name="skynet-store", daemon=True)
        self._thread.start()

    def submit(self, *writes: Write) -> None:
        """Store the rows, all or none, and return once they are committed. Raises StoreError."""
        self._wait(_Job(writes=writes))

    def submit_later(self, *writes: Write, then: Then) -> None:
        """Store the rows, all or none, without waiting: the writer's thread calls `then` once they are committed,
        with the StoreError when they are not. Raises StoreError when no rows are taken any more."""
        self._add(_Job(writes=writes, then=lambda error: then(None if error is None else explain(error, self._path))))

    def run(self, work: Callable[[sa.Connection], T]) -> T:
        """Run `work` in the writer's thread in a transaction of its own; return its result after the commit.

        What `work` raises is raised here, errors of the database as StoreError.
        """
        job = _Job(work=work)
        self._wait(job)
        result: T = job.result
        return result

    def close(self) -> None:
        """Store what waits, end the thread; later calls raise StoreError."""
        with self._lock:
            self._ended = self._ended or "closed"
            self._rouse()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _add(self, job: _Job) -> None:
        with self._lock:
            if self._ended:
                raise store_error(self._path, self._ended)
            self._pending.append(job)
            self._rouse()

    def _wait(self, job: _Job) -> None:
        self._add(job)
        job.done.acquire()
        if isinstance(job.error, sa.exc.SQLAlchemyError | OSError | StoreError) or (job.error and not job.work):
            raise explain(job.error, self._path) from job.error
        if job.error:
            raise job.error

    def _rouse(self) -> None:
        """Wake the thread if it sleeps; the caller holds the lock."""
        if self._idle:
            self._idle = False
            self._wake.release()

    def _serve(self) -> None:
        try:
            with self._engine.connect().execution_options(writes=True) as connection:
                while self._sleep():
                    self._store_rows(connection)
                    for job in self._taken:
                        if job.work:
                            self._store_work(connection, job)
        except BaseException as error:  # noqa: BLE001 - a thread has no caller: those that wait are told
            self._abandon(error)

    def _sleep(self) -> bool:
        """Return True as soon as a job waits, False when there is none and the writer is to end."""
        while True:
            with self._lock:
                if self._pending or self._ended:
                    return bool(self._pending)
                self._idle = True
            self._wake.acquire()

    def _take(self) -> list[_Job]:
        with self._lock:
            self._taken, self._pending = self._pending, []
        return self._taken

    def _store_rows(self, connection: sa.Connection) -> None:
        """Commit the rows of all jobs that wait.

        They are taken after the transaction began: callers that the last commit woke have their next rows ready by
        then, which makes the groups, and so the rate, about twice as large.
        """
        self._taken = []
        error: BaseException | None = None
        driver: Any = connection.connection.dbapi_connection
        try:
            driver.execute("BEGIN IMMEDIATE")
            for statement, rows in _grouped(self._take()).items():
                driver.executemany(statement.sql, rows)
            driver.commit()
            self._check_file()
        except Exception as caught:  # noqa: BLE001 - raised in every caller of this group
            error = caught
            driver.rollback()
        for job in self._taken or self._take():  # not taken yet where the transaction did not begin
            if not job.work:
                job.finish(error)

    def _store_work(self, connection: sa.Connection, job: _Job) -> None:
        assert job.work is not None
        error: BaseException | None = None
        try:
            with connection.begin():
                job.result = job.work(connection)
            self._check_file()
        except Exception as caught:  # noqa: BLE001 - raised in the caller
            error = caught
        job.finish(error)

    def _check_file(self) -> None:
        """A deleted file swallows commits without an error: look after each commit that the file is still ours."""
        try:
            stat = os.stat(self._path)
            found = (stat.st_dev, stat.st_ino)
        except FileNotFoundError:
            found = None
        if found != self._identity:
            with self._lock:
                self._ended = "missing"
            raise store_error(self._path, "missing")

    def _abandon(self, error: BaseException) -> None:
        with self._lock:
            self._ended = explain(error, self._path).cause
            left, self._pending = [*self._taken, *self._pending], []
        for job in left:
            if not job.finished:
                job.finish(error)


def _grouped(jobs: Sequence[_Job]) -> dict[Statement, list[Row]]:
    """Gather the rows of each statement, so that one call stores them all."""
    groups: dict[Statement, list[Row]] = {}
    for job in jobs:
        for write in job.writes:
            groups.setdefault(write.statement, []).append(write.row)
    return groups
