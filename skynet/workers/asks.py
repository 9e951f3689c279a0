"""The model requests of one call: each is answered in a thread of the host's, so many at a time and no more."""

from __future__ import annotations

import contextvars
import json
import threading
from collections.abc import Callable
from typing import Any

from skynet.workers.channel import MOST_ASKS
from skynet.workers.clock import CallClock
from skynet.workers.frames import Unsupported, encode, pack
from skynet.workers.wire import Wire

Ask = Callable[[dict[str, Any], CallClock], dict[str, Any]]

_MOST_OPEN = 2 * MOST_ASKS  # a worker may have read an answer that is not counted as sent yet
_SEND_SECONDS = 5.0
_SETTLE_SECONDS = 0.05


class Asks:
    """Takes the requests of one call, and knows whether one is still to be answered."""

    def __init__(self, wire: Wire, ask: Ask | None, clock: CallClock) -> None:
        self._wire = wire
        self._ask = ask
        self._clock = clock
        self._lock = threading.Lock()  # held while an answer is sent
        self._taken = 0
        self._answered = 0

    def take(self, message: dict[str, Any]) -> None:
        """Begin to answer a request. Raises ValueError for what our own runtime never sends."""
        number, request = message.get("number"), message.get("request")
        if type(number) is not int or not isinstance(request, dict):
            raise ValueError("a request without a number, or that is no object")
        if self._taken - self._answered >= _MOST_OPEN:
            raise ValueError(f"more than {_MOST_OPEN} requests at a time")
        self._taken += 1
        # The copied context carries whose call this is, for the journal and the budget.
        run = contextvars.copy_context().run
        threading.Thread(target=run, args=(self._serve, number, request), name="skynet-ask", daemon=True).start()

    def _serve(self, number: int, request: dict[str, Any]) -> None:
        frame = encode({"kind": "answer", "number": number, "answer": self._answer(request)})
        with self._lock:
            try:
                self._wire.send(frame, _SEND_SECONDS)
            except OSError:
                return  # the call ended without waiting for its answer; the ledger has it all the same
            finally:
                self._answered += 1

    def _answer(self, request: dict[str, Any]) -> Any:
        if self._ask is None:
            return {"error": "no model can be reached from this call"}
        try:
            json.dumps(request)
        except (TypeError, ValueError) as error:  # bytes, a date: what crosses to the host but not to a model
            return {"error": f"this request cannot be sent to a model: {error}"}
        with self._clock.request():
            answer = self._ask(request, self._clock)
        try:
            return pack(answer)
        except Unsupported as error:
            return {"error": f"the model's answer cannot be handed on: {error}"}

    def are_settled(self) -> bool:
        """Whether every request has been answered: an answer that comes later would disturb the next call."""
        if not self._taken:
            return True
        if not self._lock.acquire(timeout=_SETTLE_SECONDS):
            return False
        try:
            return self._taken == self._answered
        finally:
            self._lock.release()
