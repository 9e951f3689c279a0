"""The model calls of one case, or of one run, that are under way: none may outlive it unbooked."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from skynet.models.retry import Cancelled

BOOKING_SECONDS = 1.0  # for a reply that came at the last moment of its own timeout


class OpenCalls:
    """Counts calls from their beginning to their entry in the books. Used from any thread.

    `over` is set by end(): what was not sent to a provider by then must never be.
    """

    def __init__(self) -> None:
        self.over = threading.Event()
        self._changed = threading.Condition()
        self._open = 0

    @contextmanager
    def call(self) -> Iterator[None]:
        """Around one call. Raises Cancelled when it comes after the end."""
        with self._changed:
            if self.over.is_set():
                raise Cancelled("The model call came after the end of the case, or of the run, that it was made for.")
            self._open += 1
        try:
            yield
        finally:
            with self._changed:
                self._open -= 1
                self._changed.notify_all()

    def end(self, seconds: float) -> bool:
        """Refuse calls from now on and wait for those under way, `seconds` at most; return whether all have ended."""
        with self._changed:
            self.over.set()
            return self._changed.wait_for(lambda: self._open == 0, seconds + BOOKING_SECONDS)
