"""Who descends from whom, and how much memory they hold: one scan of the process table, shared by all workers."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Process:
    """One row of the table; `resident` is in bytes."""

    parent: int
    resident: int


def scan() -> dict[int, Process]:
    """Return every process by its id."""
    return dict(_scan_proc()) if sys.platform == "linux" else dict(_scan_ps())


def _scan_proc() -> Iterator[tuple[int, Process]]:
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            continue  # it ended between the listing and the reading
        yield int(name), Process(parent=int(fields[1]), resident=int(fields[21]) * _PAGE)


def _scan_ps() -> Iterator[tuple[int, Process]]:
    told = subprocess.run(["ps", "-axo", "pid=,ppid=,rss="], capture_output=True, text=True, check=True)
    for line in told.stdout.splitlines():
        pid, parent, kib = (int(field) for field in line.split())
        yield pid, Process(parent=parent, resident=kib * 1024)


def children(table: dict[int, Process], pid: int) -> list[int]:
    """Return the direct children of a process."""
    return [child for child, process in table.items() if process.parent == pid]


def own_children() -> list[int]:
    """Return the direct children of this process, which has one thread only."""
    pid = os.getpid()
    try:
        with open(f"/proc/{pid}/task/{pid}/children", "rb") as file:
            return [int(child) for child in file.read().split()]
    except OSError:  # a kernel without this file
        return children(scan(), pid)


def memory_below(table: dict[int, Process], pid: int) -> int:
    """Return the resident bytes of all descendants of a process."""
    by_parent: dict[int, list[int]] = {}
    for child, process in table.items():
        by_parent.setdefault(process.parent, []).append(child)
    total, waiting = 0, by_parent.get(pid, [])
    while waiting:
        current = waiting.pop()
        total += table[current].resident
        waiting.extend(by_parent.get(current, []))
    return total


class SharedTable:
    """The process table at most `max_age` seconds old, scanned once for all threads that ask within that time."""

    def __init__(self, max_age: float = 0.1) -> None:
        self._max_age = max_age
        self._lock = threading.Lock()
        self._taken = float("-inf")
        self._table: dict[int, Process] = {}

    def get(self) -> dict[int, Process]:
        """Return the table."""
        with self._lock:
            if time.monotonic() - self._taken > self._max_age:
                self._table = scan()
                self._taken = time.monotonic()
            return self._table
