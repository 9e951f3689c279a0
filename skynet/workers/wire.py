"""The host's end of a worker's streams: whole frames both ways, and what the user's code prints."""

from __future__ import annotations

import os
import select
import threading
import time

from skynet.workers import hang
from skynet.workers.frames import HEADER
from skynet.workers.process import Process

_READ = 1 << 16
_MOST_DRAINS = 64


class Prints:
    """The head and the tail of what a call printed."""

    def __init__(self, limit: int) -> None:
        self._half = limit // 2
        self._head = b""
        self._tail = b""
        self._total = 0

    def add(self, part: bytes) -> None:
        """Take one more piece."""
        self._total += len(part)
        room = self._half - len(self._head)
        if room > 0:
            self._head += part[:room]
            part = part[room:]
        if part:
            self._tail = (self._tail + part)[-self._half :]

    def text(self) -> str:
        """Return head and tail, and how much was left out between them."""
        left_out = self._total - len(self._head) - len(self._tail)
        gap = f"\n... {left_out:,} bytes left out ...\n".encode() if left_out else b""
        return (self._head + gap + self._tail).decode("utf-8", "replace")


class Wire:
    """Reads whole frames and prints from one worker's descriptors."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._buffer = bytearray()
        self._sending = threading.Lock()
        self._poller = select.poll()
        self._frames = process.frames.fileno()
        for descriptor in (self._frames, process.stdout, process.stderr):
            self._poller.register(descriptor, select.POLLIN)
        self._frames_poller = select.poll()
        self._frames_poller.register(self._frames, select.POLLIN)
        process.frames.setblocking(False)
        self.closed = False

    def send(self, frame: bytes, seconds: float) -> None:
        """Send one frame. Raises OSError when the worker is gone or does not read within `seconds`."""
        view = memoryview(frame)
        with self._sending:
            while view:
                try:
                    view = view[self._process.frames.send(view) :]
                except BlockingIOError:
                    if not select.select([], [self._frames], [], seconds)[1]:
                        raise

    def wait(self, seconds: float, prints: dict[int, Prints]) -> None:
        """Wait up to `seconds` for something to read, and read it."""
        for descriptor, _ in self._poller.poll(max(0.0, seconds) * 1000):
            if descriptor == self._frames:
                self._receive()
            else:
                self._drain(descriptor, prints, 1)

    def _receive(self) -> None:
        try:
            part = self._process.frames.recv(_READ)
        except BlockingIOError:
            return
        except OSError:
            part = b""
        self.closed = self.closed or not part
        self._buffer += part

    def drain(self, prints: dict[int, Prints]) -> None:
        """Read what the worker printed before its reply."""
        for descriptor in prints:
            self._drain(descriptor, prints, _MOST_DRAINS)

    def _drain(self, descriptor: int, prints: dict[int, Prints], most: int) -> None:
        for _ in range(most):
            try:
                part = os.read(descriptor, _READ)
            except BlockingIOError:
                return
            if not part:
                self._unregister(descriptor)
                return
            prints[descriptor].add(part)

    def _unregister(self, descriptor: int) -> None:
        try:
            self._poller.unregister(descriptor)
        except KeyError:
            return  # the stream's end was seen before

    def is_quiet(self) -> bool:
        """Whether the worker is there and has said nothing that was not read; before an order nothing is due."""
        return not self._buffer and not self._frames_poller.poll(0)

    def last_words(self, seconds: float, prints: dict[int, Prints]) -> bytes:
        """Return what comes within `seconds` from a worker that was asked for its stacks, and is then no more heard."""
        deadline = time.monotonic() + seconds
        while len(self._buffer) < hang.MOST_BYTES and not self.closed and not hang.is_whole(self._buffer):
            if (left := deadline - time.monotonic()) <= 0:
                break
            self.wait(left, prints)
        return bytes(self._buffer)

    def next_frame(self, most: int) -> bytes | None:
        """Return the next whole frame's body, or None. Raises ValueError when it claims more than `most` bytes."""
        if len(self._buffer) < HEADER.size:
            return None
        (size,) = HEADER.unpack_from(self._buffer)
        if size > most:
            raise ValueError(f"it sent a frame of {size:,} bytes; at most {most:,} may cross")
        if len(self._buffer) < HEADER.size + size:
            return None
        body = bytes(self._buffer[HEADER.size : HEADER.size + size])
        del self._buffer[: HEADER.size + size]
        return body
