"""Whether anything but the worker runs below its supervisor: the host looks itself, whatever the worker says."""

from __future__ import annotations

import contextlib
import os

from skynet.workers import process_table

_MOST = 4096  # bytes read of a list of process ids; Linux gives no more at a time
_OWN_LINKS = 2  # of a process's folder of threads; one more for each thread
_MOST_KEPT = 8  # threads whose lists stay open


class Family:
    """The processes below one supervisor: read from what Linux tells of children, elsewhere from a scan of all.

    Linux lists children by the thread that started them. The lists stay open and are compared as they are read, so that
    a look at a worker in which nothing changed costs a few microseconds.
    """

    def __init__(self, supervisor: int, worker: int) -> None:
        self._supervisor = supervisor
        self._worker = worker
        self._known: set[int] = {worker}
        self._open: list[int] = []  # the supervisor's list, and the folder of the worker's threads
        self._lists: list[int] = []
        self._links = 0  # of that folder when the threads' lists were opened; 0: they are to be opened anew
        self._told: list[bytes] = []
        with contextlib.suppress(OSError):  # no such files on this system, or the worker is gone already
            for path in (f"/proc/{supervisor}/task/{supervisor}/children", f"/proc/{worker}/task"):
                self._open.append(os.open(path, os.O_RDONLY))

    def accept(self) -> None:
        """Take what runs now for the worker's own: the loading of the user's file started it."""
        with contextlib.suppress(OSError):  # the worker is gone: it is not used again
            self._known |= self._below()

    def has_strangers(self) -> bool:
        """Whether a process that the worker started since still runs, in its family or out of it."""
        try:
            return not (self._is_unchanged() or self._below() <= self._known)
        except OSError:
            return True  # the supervisor or the worker is gone; so must the rest be

    def _is_unchanged(self) -> bool:
        if not self._links or os.fstat(self._open[1]).st_nlink != self._links:
            return False
        try:
            return [os.pread(descriptor, _MOST, 0) for descriptor in (self._open[0], *self._lists)] == self._told
        except ProcessLookupError:  # a thread has ended, and another one begun; or the supervisor is gone
            return False

    def _below(self) -> set[int]:
        """Return the children of the supervisor, which are the worker and what left it, and those of the worker."""
        if len(self._open) < 2:
            table = process_table.scan()
            return {pid for parent in (self._supervisor, self._worker) for pid in process_table.children(table, parent)}
        self._close_lists()
        told = [os.pread(self._open[0], _MOST, 0)]
        threads = os.listdir(self._open[1])
        for thread in sorted(threads, key=str(self._worker).__eq__):  # the main one, heir of those that end, is last
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended
                self._lists.append(os.open(f"/proc/{self._worker}/task/{thread}/children", os.O_RDONLY))
                told.append(os.pread(self._lists[-1], _MOST, 0))
        if len(told) == len(self._lists) + 1 == len(threads) + 1 and len(threads) <= _MOST_KEPT:
            self._told, self._links = told, _OWN_LINKS + len(threads)
        else:
            self._close_lists()
        return {int(pid) for part in told for pid in part.split()}

    def _close_lists(self) -> None:
        for descriptor in self._lists:
            os.close(descriptor)
        self._lists, self._told, self._links = [], [], 0

    def close(self) -> None:
        """Close what was opened."""
        self._close_lists()
        for descriptor in self._open:
            os.close(descriptor)
        self._open = []
