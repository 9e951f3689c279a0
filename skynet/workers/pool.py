"""The pool: it lends loaded workers to calls, replaces those that are not clean any more, and never lends one twice."""

from __future__ import annotations

import statistics
import threading
from typing import Any

from skynet.workers.fault import Fault
from skynet.workers.process import Starter, WorkerSetup
from skynet.workers.worker import Ask, Outcome, WorkerHandle

LOAD_SECONDS = 60.0
_PINGS = 9


class WorkerPool:
    """At most `size` workers of one setup. All methods may be called from any thread."""

    def __init__(self, setup: WorkerSetup, size: int = 1, load_seconds: float = LOAD_SECONDS) -> None:
        self._setup = setup
        self._load_seconds = load_seconds
        self._starter = Starter(setup)
        self._free = threading.Semaphore(size)
        self._lock = threading.Lock()
        self._idle: list[WorkerHandle] = []
        self._lent: set[WorkerHandle] = set()
        self._closed = False

    def warm(self) -> None:
        """Begin to start the template, without waiting for it."""
        self._starter.warm()

    def load(self, cancel: threading.Event | None = None) -> Outcome:
        """Load the user's file into a worker, kept for the next call. The value is what the entry says of the file."""
        with self._free:
            handle = WorkerHandle(self._starter.start(), self._setup.limits)
            outcome = handle.load(dict(self._setup.config), self._load_seconds, cancel)
            if outcome.kind != "ok":
                handle.end()
            self._take_back(handle)
            return outcome

    def call(
        self,
        payload: dict[str, Any],
        *,
        timeout: float,
        ask: Ask | None = None,
        seed: int = 0,
        cancel: threading.Event | None = None,
    ) -> Outcome:
        """Run one call in a worker of its own; waiting for a free worker and loading it count against no timeout.

        `timeout` is in seconds. `ask` answers the model requests of the call; `seed` seeds its random numbers.
        """
        with self._free:
            if self._closed:
                return Outcome("cancelled", fault=Fault("cancelled", "the workers are closed"))
            handle, failed = self._loaded_worker(cancel)
            if failed is not None:
                return failed
            try:
                return handle.call(payload, timeout, ask, seed, cancel)
            finally:
                self._take_back(handle)

    def clock_floor_ms(self, timeout: float = 10.0) -> float:
        """Return the least that a call can be clocked at here: the median of what calls that do nothing take."""
        with self._free:
            handle, failed = self._loaded_worker(None)
            if failed is not None:
                return float("nan")
            try:
                return statistics.median(handle.ping(timeout).elapsed_ms for _ in range(_PINGS))
            finally:
                self._take_back(handle)

    def _loaded_worker(self, cancel: threading.Event | None) -> tuple[WorkerHandle, Outcome | None]:
        with self._lock:
            if self._idle:
                handle = self._idle.pop()
                self._lent.add(handle)
                return handle, None
        handle = WorkerHandle(self._starter.start(), self._setup.limits)
        with self._lock:
            self._lent.add(handle)
        outcome = handle.load(dict(self._setup.config), self._load_seconds, cancel)
        if outcome.kind == "ok":
            return handle, None
        handle.end()
        self._take_back(handle)
        return handle, outcome

    def _take_back(self, handle: WorkerHandle) -> None:
        with self._lock:
            self._lent.discard(handle)
            if handle.clean and not self._closed:
                self._idle.append(handle)
                return
        handle.end()

    def close(self) -> None:
        """End all workers and the template. Calls under way are cut off by their `cancel`."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for handle in idle:
            handle.end()
        self._starter.close()

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
