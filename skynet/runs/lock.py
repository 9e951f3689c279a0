"""Who drives a run: an OS lock on a file of its own, freed by the system when the driver's process ends."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from skynet.errors import SkynetError
from skynet.runs.fault import explain

PATIENCE = 0.5  # seconds; a look by `is_driven` holds the lock for some microseconds and must not fail a driver


class RunDriven(SkynetError):
    """Another process drives this run."""


def lock_path(folder: Path, run: str) -> Path:
    """Return the lock file of a run; `folder` is the `.skynet` folder."""
    return folder / "runs" / f"{run}.lock"


class RunLock:
    """Held by the one process that drives a run; the file holds its process id.

    Raises RunDriven when another process has it, StoreError when the file cannot be written.
    """

    def __init__(self, folder: Path, run: str) -> None:
        self.path = lock_path(folder, run)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor: int | None = self._take(run)
        except OSError as error:
            raise explain(error, self.path) from error

    def _take(self, run: str) -> int:
        deadline = time.monotonic() + PATIENCE
        while True:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
            if _try_lock(descriptor, fcntl.LOCK_EX) and _still_there(descriptor, self.path):
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
                return descriptor
            os.close(descriptor)
            if time.monotonic() > deadline:
                pid = driver_pid(self.path.parent.parent, run)
                raise RunDriven(
                    f"run {run} is driven by {f'process {pid}' if pid else 'another process'}; follow it with "
                    f"`skynet runs watch {run}` or stop it with `skynet runs cancel {run}`"
                )
            time.sleep(0.01)

    def release(self, *, remove: bool = False) -> None:
        """Give the lock back; `remove` deletes the file first, for a run that is deleted."""
        if self._descriptor is None:
            return
        if remove:
            self.path.unlink(missing_ok=True)
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)  # at once, even while a child is between fork and exec
        os.close(self._descriptor)
        self._descriptor = None

    def __enter__(self) -> RunLock:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def is_driven(folder: Path, run: str) -> bool:
    """Whether a live process drives the run."""
    try:
        descriptor = os.open(lock_path(folder, run), os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        return not _try_lock(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def driver_pid(folder: Path, run: str) -> int | None:
    """Return the process id of the run's driver, or None when no live process drives it."""
    return last_pid(folder, run) if is_driven(folder, run) else None


def last_pid(folder: Path, run: str) -> int | None:
    """Return the process id of the run's driver, or of its last one where no process drives it any more."""
    try:
        text = lock_path(folder, run).read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return None
    return int(text) if text.isdigit() else None  # taken a moment ago, not yet written


@contextmanager
def folder_locked(folder: Path) -> Iterator[None]:
    """Hold the folder itself against other processes; waits for its turn."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _still_there(descriptor: int, path: Path) -> bool:
    """Whether the file was not deleted between opening and locking it; a lock on a deleted file guards nothing."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
