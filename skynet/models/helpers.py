"""Threads that do what may have to be left behind: a request to a server that may never answer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue

Work = Callable[[], None]


class Helpers:
    """Daemon threads, each kept for the next work when it is done; work that hangs holds up nothing but its thread."""

    def __init__(self) -> None:
        self._idle: list[SimpleQueue[Work]] = []  # the inboxes of those that wait

    def give(self, work: Work) -> None:
        """Have a thread do `work`, which must not raise."""
        try:
            inbox = self._idle.pop()
        except IndexError:
            inbox = SimpleQueue()
            threading.Thread(target=self._serve, args=(inbox,), name="skynet-request", daemon=True).start()
        inbox.put(work)

    def _serve(self, inbox: SimpleQueue[Work]) -> None:
        while True:
            inbox.get()()
            self._idle.append(inbox)


HELPERS = Helpers()
