"""The one error of the store, and what SQLite's error codes mean to a person."""

from __future__ import annotations

import errno
import os
import sqlite3
from pathlib import Path
from typing import Literal

from skynet.errors import SkynetError

Cause = Literal["full", "locked", "readonly", "damaged", "foreign", "schema", "missing", "io", "closed", "row"]

_CAUSES: tuple[tuple[str, Cause], ...] = (
    ("SQLITE_FULL", "full"),
    ("SQLITE_BUSY", "locked"),
    ("SQLITE_LOCKED", "locked"),
    ("SQLITE_READONLY", "readonly"),
    ("SQLITE_CANTOPEN", "readonly"),
    ("SQLITE_PERM", "readonly"),
    ("SQLITE_CORRUPT", "damaged"),
    ("SQLITE_NOTADB", "damaged"),
    ("SQLITE_IOERR", "io"),
)

_WORDS: dict[Cause, str] = {
    "full": "the disk is full; free some space and go on with `skynet runs resume`",
    "locked": "another program keeps it locked; close that program and go on with `skynet runs resume`",
    "readonly": "it cannot be opened for writing; check the permissions of the file and of its folder",
    "damaged": "the file is damaged or no database; nothing was changed in it. Move it away to start a new store",
    "foreign": "it is the database of another program; nothing was changed in it. Move it away to start a new store",
    "missing": "the file was deleted or replaced while it was open; nothing more can be stored in it. Put it back "
    "and go on with `skynet runs resume`, or start a new run, which makes a new store",
    "io": "the disk refused to read or write; look at the disk and go on with `skynet runs resume`",
    "closed": "the store was closed",
    "row": "a row could not be stored",
}


class StoreError(SkynetError):
    """The store cannot be opened or written. `cause` says why in one word; nothing half-written is left behind."""

    def __init__(self, message: str, cause: Cause) -> None:
        super().__init__(message)
        self.cause = cause


def store_error(path: Path, cause: Cause, detail: str = "") -> StoreError:
    """Build the error for a known cause; `detail` is the system's own wording."""
    return StoreError(f"{path}: {_WORDS[cause]}{f' ({detail})' if detail else ''}", cause)


def explain(error: BaseException, path: Path) -> StoreError:
    """Translate an error of SQLAlchemy, sqlite3 or the system that came up while working on the store at `path`."""
    if isinstance(error, StoreError):
        return StoreError(str(error), error.cause)
    origin = getattr(error, "orig", None) or error
    if isinstance(origin, OSError):
        return store_error(path, "full" if origin.errno == errno.ENOSPC else "readonly", str(origin))
    if isinstance(origin, sqlite3.Error):
        name = getattr(origin, "sqlite_errorname", "") or ""
        for prefix, cause in _CAUSES:
            if name.startswith(prefix):
                gone = cause == "readonly" and not path.exists() and os.access(path.parent, os.W_OK)
                return store_error(path, "missing" if gone else cause, str(origin))
    return store_error(path, "row", f"{type(origin).__name__}: {origin}")
