"""Open the store's file: make it when it is not there, refuse what is not ours, leave a refused file untouched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import sqlalchemy as sa

from skynet.runs import schema
from skynet.runs.fault import StoreError, explain, store_error
from skynet.runs.lock import folder_locked

CHECKPOINT_PAGES = 4000  # 16 MiB of WAL between two checkpoints: an fsync a few times a minute, not a second


def open_engine(path: Path, *, create: bool, busy_seconds: float) -> sa.Engine:
    """Return an engine on the store at `path`. Raises StoreError; only a missing file is ever created."""
    try:
        if create:
            path.parent.mkdir(parents=True, exist_ok=True)
            with folder_locked(path.parent):
                if not path.exists():
                    _make(path, busy_seconds)
        elif not path.exists():
            raise StoreError(f"there is no store at {path}; `skynet run` makes one", "missing")
        engine = _engine(path, busy_seconds)
        try:
            _check(engine, path)
        except BaseException:
            engine.dispose()
            raise
        return engine
    except (sa.exc.SQLAlchemyError, OSError) as error:
        raise explain(error, path) from error


def _engine(path: Path, busy_seconds: float, *, make: bool = False) -> sa.Engine:
    # By URI, since a plain connection to a file that was deleted would leave an empty one in its place.
    query = {"mode": "rwc" if make else "rw", "uri": "true"}
    engine = sa.create_engine(
        sa.URL.create("sqlite", database=path.absolute().as_uri(), query=query),
        connect_args={"check_same_thread": False, "isolation_level": None},
        max_overflow=-1,  # any number of threads may read at once
    )

    @sa.event.listens_for(engine, "connect")
    def prepare(connection: Any, record: Any) -> None:
        connection.execute(f"PRAGMA busy_timeout = {round(busy_seconds * 1000)}")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")

    @sa.event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        # The driver opens no transactions of its own. A writer takes the lock at once: one that began as a reader
        # would be turned away, without waiting, when another process wrote in between.
        writes = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _make(path: Path, busy_seconds: float) -> None:
    """Build the store beside its place and move it there whole: an empty file at `path` is never ours."""
    unfinished = path.with_name(path.name + ".new")
    for leftover in (unfinished, *_beside(unfinished)):
        leftover.unlink(missing_ok=True)
    engine = _engine(unfinished, busy_seconds, make=True)
    try:
        with engine.connect() as connection:
            connection.connection.cursor().execute("PRAGMA journal_mode = WAL")
        with engine.connect().execution_options(writes=True) as connection, connection.begin():
            schema.metadata.create_all(connection)
            connection.execute(schema.meta.insert().values(key=schema.SCHEMA_KEY, value=str(schema.SCHEMA)))
    finally:
        engine.dispose()
    for leftover in _beside(path):  # of a store that was deleted: SQLite would take its pages for ours
        leftover.unlink(missing_ok=True)
    unfinished.replace(path)


def _beside(path: Path) -> tuple[Path, Path]:
    """Return the files that SQLite keeps beside a database in use."""
    return path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")


def _check(engine: sa.Engine, path: Path) -> None:
    if path.stat().st_size == 0:
        raise store_error(path, "damaged", "the file is empty")
    with engine.connect() as connection:
        if not sa.inspect(connection).has_table("meta"):
            raise store_error(path, "foreign")
        columns = {column["name"] for column in sa.inspect(connection).get_columns("meta")}
        if not {"key", "value"} <= columns:
            raise store_error(path, "foreign")
        found = connection.scalar(sa.select(schema.meta.c.value).where(schema.meta.c.key == schema.SCHEMA_KEY))
    if found is None:
        raise store_error(path, "foreign")
    if found != str(schema.SCHEMA):
        raise StoreError(
            f"store {path} has schema {found}, this Skynet reads schema {schema.SCHEMA}; nothing was changed in it. "
            "Use the Skynet version that wrote it, or move the file away to start a new store",
            "schema",
        )
