"""The worker's end of the frames: it receives orders, sends replies, and asks the host from any thread."""

from __future__ import annotations

import itertools
import os
import threading
from typing import Any

from skynet.workers.frames import HEADER, REPLY_LEVELS, decode, encode, pack

MOST_ASKS = 64  # requests of one call that wait for their answers at the same time; more wait for their turn here

Frame = dict[str, Any]


class HostGone(Exception):  # the normal end of a worker, not an error
    """The host closed its end."""


class Channel:
    """One worker's connection to its host."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._owner = os.getpid()
        self._sending = threading.Lock()
        self._turn = threading.Condition()
        self._reading = False
        self._room = threading.Semaphore(MOST_ASKS)
        self._answers: dict[int, Frame] = {}
        self._numbers = itertools.count(1)
        self.open_call = 0  # the number of the call that runs; 0 between calls

    def receive(self) -> Frame:
        """Return the next order. Raises HostGone."""
        return decode(self._read(HEADER.unpack(self._read(HEADER.size))[0]))

    def _read(self, size: int) -> bytes:
        parts: list[bytes] = []
        while size:
            part = os.read(self._descriptor, min(size, 1 << 20))
            if not part:
                raise HostGone
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def send(self, frame: bytes) -> None:
        """Send one encoded frame whole."""
        with self._sending:
            view = memoryview(frame)
            while view:
                view = view[os.write(self._descriptor, view) :]

    def ask(self, request: Frame) -> Frame:
        """Send a request to the host and return its answer; several threads may ask at the same time.

        The thread that reads while others wait hands them their answers.
        """
        call = self.open_call
        if os.getpid() != self._owner:
            raise RuntimeError("a forked process cannot reach Skynet; call llm() in the worker's own threads")
        if not call:
            raise RuntimeError("the call that this thread was started in has ended")
        with self._room:
            number = next(self._numbers)
            self.send(encode({"kind": "ask", "number": number, "request": pack(request, REPLY_LEVELS)}))
            with self._turn:
                while number not in self._answers:
                    if self._reading:
                        self._turn.wait()
                    else:
                        self._read_answer()
                return self._answers.pop(number)

    def _read_answer(self) -> None:
        self._reading = True
        self._turn.release()
        try:
            frame = self.receive()
        finally:
            self._turn.acquire()
            self._reading = False
            self._turn.notify_all()
        self._answers[frame["number"]] = frame["answer"]
