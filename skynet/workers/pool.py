"""The pool: it lends loaded workers to calls, replaces those that are not clean any more, and never lends one twice."""

from __future__ import annotations

import statistics
import threading
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from skynet.workers.asks import Ask
from skynet.workers.fault import Fault
from skynet.workers.process import WorkerSetup
from skynet.workers.starter import Starter
from skynet.workers.worker import Around, Outcome, WorkerHandle

LOAD_SECONDS = 60.0
_PINGS = 9


@dataclass(frozen=True, slots=True)
class Load:
    """What a worker loads besides the setup's config. A worker serves one key only: another key is another worker."""

    key: str = ""
    config: dict[str, Any] = field(default_factory=dict)


_PLAIN = Load()


class WorkerPool:
    """At most `size` workers of one setup. All methods may be called from any thread.

    `on_loaded` is called whenever a worker has loaded the user's files; what it raises is raised to the caller.
    """

    def __init__(
        self,
        setup: WorkerSetup,
        size: int = 1,
        load_seconds: float = LOAD_SECONDS,
        on_loaded: Callable[[], None] = lambda: None,
    ) -> None:
        self._setup = setup
        self._on_loaded = on_loaded
        self._load_seconds = load_seconds
        self._starter = Starter(setup)
        self._free = threading.Semaphore(size)
        self._lock = threading.Lock()
        self._size = size
        self._idle: list[WorkerHandle] = []  # the one that waits longest first
        self._lent: set[WorkerHandle] = set()
        self._closed = False

    def warm(self) -> None:
        """Begin to start the template, without waiting for it."""
        self._starter.warm()

    def load(self, cancel: threading.Event | None = None) -> Outcome:
        """Load the user's file into a worker, kept for the next call. The value is what the entry says of the file."""
        with self._free:
            handle = WorkerHandle(self._starter.start(), self._setup.limits)
            outcome = handle.load(dict(self._setup.config), self._load_seconds, cancel, self._setup.endpoint)
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
        load: Load = _PLAIN,
        around: Around = lambda token, clock: nullcontext(),
    ) -> Outcome:
        """Run one call in a worker of its own; waiting for a free worker and loading it count against no timeout.

        `timeout` is in seconds. `ask` answers the model requests of the call; `seed` seeds its random numbers. `load`
        names what the worker must hold: one that holds something else is not lent, but replaced when there is no room.
        `around` is entered around the call with the worker's token, by which other doors than `ask` know it.
        """
        with self._free:
            if self._closed:
                return Outcome("cancelled", fault=Fault("cancelled", "the workers are closed"))
            handle, failed = self._loaded_worker(cancel, load)
            if failed is not None:
                return failed
            try:
                return handle.call(payload, timeout, ask, seed, cancel, around)
            finally:
                self._take_back(handle)

    def clock_floor_ms(self, timeout: float = 10.0, load: Load = _PLAIN) -> float:
        """Return the least that a call can be clocked at here: the median of what calls that do nothing take."""
        with self._free:
            handle, failed = self._loaded_worker(None, load)
            if failed is not None:
                return float("nan")
            try:
                return statistics.median(handle.ping(timeout).elapsed_ms for _ in range(_PINGS))
            finally:
                self._take_back(handle)

    def _loaded_worker(self, cancel: threading.Event | None, load: Load) -> tuple[WorkerHandle, Outcome | None]:
        idle = self._take_idle(load.key)
        if idle is not None:
            if idle.is_quiet():
                return idle, None
            idle.end()
            self._take_back(idle)
        handle = WorkerHandle(self._starter.start(), self._setup.limits, load.key)
        with self._lock:
            self._lent.add(handle)
        loaded = False
        try:
            outcome = handle.load(self._setup.config | load.config, self._load_seconds, cancel, self._setup.endpoint)
            self._on_loaded()
            loaded = outcome.kind == "ok"
        finally:
            if not loaded:
                handle.end()
                self._take_back(handle)
        return handle, None if loaded else outcome

    def _take_idle(self, key: str) -> WorkerHandle | None:
        """Lend an idle worker that holds this key; without one, end an idle worker where a new one has no room."""
        replaced = None
        with self._lock:
            for handle in reversed(self._idle):
                if handle.key == key:
                    self._idle.remove(handle)
                    self._lent.add(handle)
                    return handle
            if self._idle and len(self._idle) + len(self._lent) >= self._size:
                replaced = self._idle.pop(0)
        if replaced is not None:
            replaced.end()
        return None

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
