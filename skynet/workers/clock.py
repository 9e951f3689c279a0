"""The host's clock of one call: what passes while every open model request waits in a queue is not counted."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class CallClock:
    """Counts the seconds of one call. All methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._started = time.perf_counter()
        self._open = 0
        self._waiting = 0
        self._paused_at: float | None = None
        self._left_out = 0.0

    @contextmanager
    def request(self) -> Iterator[None]:
        """Around one model request of the call."""
        self._change(opened=1)
        try:
            yield
        finally:
            self._change(opened=-1)

    @contextmanager
    def wait(self) -> Iterator[None]:
        """Around a time in which a request waits for its turn, for a rate limit or for our own retry."""
        self._change(waiting=1)
        try:
            yield
        finally:
            self._change(waiting=-1)

    def leave_out(self, seconds: float) -> None:
        """Take off time that only now turned out not to count, such as a failed try of ours."""
        with self._lock:
            self._left_out += seconds

    def _change(self, opened: int = 0, waiting: int = 0) -> None:
        with self._lock:
            now = time.perf_counter()
            if self._paused_at is not None:
                self._left_out += now - self._paused_at
            self._open += opened
            self._waiting += waiting
            paused = self._waiting > 0 and self._waiting == self._open
            self._paused_at = now if paused else None

    @property
    def in_request(self) -> bool:
        """Whether a request is with its provider now, not in a queue of ours."""
        with self._lock:
            return self._open > self._waiting

    def elapsed(self) -> float:
        """Return the counted seconds so far."""
        with self._lock:
            now = time.perf_counter()
            paused = now - self._paused_at if self._paused_at is not None else 0.0
            return max(0.0, now - self._started - self._left_out - paused)
