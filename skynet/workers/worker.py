"""The host's end of one worker: it sends an order, waits under the limits, collects prints, and serves requests."""

from __future__ import annotations

import contextvars
import os
import secrets
import select
import signal
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

from skynet.workers.clock import CallClock
from skynet.workers.fault import Fault, FaultKind
from skynet.workers.frames import HEADER, decode, encode, pack
from skynet.workers.limits import MIB, Limits
from skynet.workers.process import Process
from skynet.workers.process_table import SharedTable, tree_memory

Ask = Callable[[dict[str, Any], CallClock], dict[str, Any]]
Around = Callable[[str, CallClock], AbstractContextManager[object]]

_SLICE_SECONDS = 0.05  # how often a long call is looked at: memory, cancellation, the clock
_READ = 1 << 16
_MOST_DRAINS = 64
_DYING_SECONDS = 0.5
_TABLE = SharedTable()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one call. `kind` is `ok` or the fault's kind; `elapsed_ms` is the host's clock, `loading` whether
    the user's file did not even load."""

    kind: FaultKind | str
    value: Any = None
    fault: Fault | None = None
    stdout: str = ""
    stderr: str = ""
    elapsed_ms: float = 0.0
    loading: bool = False


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


class WorkerHandle:
    """One worker process and the calls made to it; used by one thread at a time. `key` names what it has loaded."""

    def __init__(self, process: Process, limits: Limits, key: str = "") -> None:
        self.key = key
        self._process = process
        self._limits = limits
        self._wire = Wire(process)
        self._most = limits.output + MIB
        self._calls = 0
        self.token = secrets.token_urlsafe(24)  # told to the worker when it loads; whoever bears it speaks for its call
        self._is_ended = False
        self._status: int | None = None
        self.clean = True

    def load(
        self, config: dict[str, Any], seconds: float, cancel: threading.Event | None, endpoint: str = ""
    ) -> Outcome:
        """Have the worker load the user's file; SDKs in it find a model at `endpoint`, if there is one."""
        sdk = {"OPENAI_BASE_URL": endpoint, "OPENAI_API_KEY": self.token} if endpoint else {}
        order = {"kind": "load", "config": pack(config), "environment": sdk}
        return replace(self._run(order, seconds, None, cancel, "loading the file"), loading=True)

    def call(
        self,
        payload: dict[str, Any],
        seconds: float,
        ask: Ask | None,
        seed: int,
        cancel: threading.Event | None,
        around: Around,
    ) -> Outcome:
        """Run one call; afterwards `clean` says whether the worker may serve another."""
        self._calls += 1
        order = {
            "kind": "call", "number": self._calls, "payload": pack(payload), "seed": seed, "most": self._limits.output,
        }  # fmt: skip
        clock = CallClock()
        with around(self.token, clock):
            outcome = self._run(order, seconds, ask, cancel, "the call", clock)
        if self.clean and self._process.orphans():
            self.clean = False
        return outcome

    def ping(self, seconds: float) -> Outcome:
        """Have the worker answer without doing anything."""
        return self._run({"kind": "ping"}, seconds, None, None, "the answer")

    def _run(
        self,
        order: dict[str, Any],
        seconds: float,
        ask: Ask | None,
        cancel: threading.Event | None,
        what: str,
        clock: CallClock | None = None,
    ) -> Outcome:
        prints = {stream: Prints(self._limits.prints) for stream in (self._process.stdout, self._process.stderr)}
        frame = encode(order)
        clock = clock or CallClock()
        try:
            self._wire.send(frame, seconds)
            reply = self._await_reply(seconds, ask, cancel, clock, prints, what)
        except OSError:
            reply = {"kind": "end"}
        except (ValueError, KeyError, TypeError) as error:
            reply = _lost("bad_output", f"the process sent what is no reply: {error}")
        elapsed = clock.elapsed() * 1000
        self._wire.drain(prints)
        if reply.get("left", "killed"):
            self.clean = False
        if reply["kind"] == "end":
            reply = self._ended()
        stdout, stderr = (prints[stream].text() for stream in (self._process.stdout, self._process.stderr))
        if reply["kind"] == "done":
            return Outcome("ok", reply["value"], None, stdout, stderr, elapsed)
        fault = Fault(**reply["fault"])
        return Outcome(fault.kind, None, fault, stdout, stderr, elapsed)

    def _await_reply(
        self,
        seconds: float,
        ask: Ask | None,
        cancel: threading.Event | None,
        clock: CallClock,
        prints: dict[int, Prints],
        what: str,
    ) -> dict[str, Any]:
        while True:
            left = seconds - clock.elapsed()
            if left <= 0:
                return _timed_out(seconds, clock.in_request, what)
            self._wire.wait(min(left, _SLICE_SECONDS), prints)
            while (body := self._wire.next_frame(self._most)) is not None:
                message = decode(body)
                if message["kind"] != "ask":
                    return _checked(message)
                self._answer(message, ask, clock)
            if self._wire.closed:
                return {"kind": "end"}
            if cancel is not None and cancel.is_set():
                return _lost("cancelled", "the run was stopped while this call was under way")
            if clock.elapsed() > _SLICE_SECONDS and (held := self._memory()) > self._limits.memory:
                return _lost("memory", f"it held {held / MIB:,.0f} MiB; the limit is {self._limits.memory / MIB:,.0f}")

    def _memory(self) -> int:
        return tree_memory(_TABLE.get(), self._process.pid)

    def _answer(self, message: dict[str, Any], ask: Ask | None, clock: CallClock) -> None:
        def serve() -> None:
            if ask is None:
                answer: dict[str, Any] = {"error": "no model can be reached from this call"}
            else:
                with clock.request():
                    answer = ask(message["request"], clock)
            reply = encode({"kind": "answer", "number": message["number"], "answer": pack(answer)})
            try:
                self._wire.send(reply, _SLICE_SECONDS * 100)
            except OSError:
                return  # the call ended without waiting for its answer; the ledger has it all the same

        # The copied context carries whose call this is, for the journal and the budget.
        run = contextvars.copy_context().run
        threading.Thread(target=run, args=(serve,), name="skynet-ask", daemon=True).start()

    def _ended(self) -> dict[str, Any]:
        # A worker that closed its descriptors may live on: then the kill is ours, and says nothing of how it ended.
        itself = self._process.ended_itself(_DYING_SECONDS)
        status = self.end()
        if not itself:
            return _lost("died", "the process closed the descriptor that Skynet gave it")
        if status is not None and os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
            hint = "; the system may have run out of memory" if number == signal.SIGKILL else ""
            return _lost("died", f"the process was ended by {name}{hint}", {"signal": name})
        if status is not None and os.WIFEXITED(status) and os.WEXITSTATUS(status):
            code = os.WEXITSTATUS(status)
            return _lost("died", f"the process ended itself with exit status {code}", {"exit_status": code})
        return _lost("died", "the process ended itself or closed the descriptor that Skynet gave it")

    def end(self) -> int | None:
        """Kill the worker's whole tree and wait until it is gone; return how it ended, as waitpid tells it."""
        self.clean = False
        if not self._is_ended:
            self._is_ended = True
            self._status = self._process.end()
        return self._status


def _checked(message: dict[str, Any]) -> dict[str, Any]:
    """Return a worker's reply, refusing (ValueError, KeyError, TypeError) what our own runtime never sends."""
    if message["kind"] == "done":
        return {"kind": "done", "value": message["value"], "left": message["left"]}
    if message["kind"] != "fault":
        raise ValueError(f"kind {message['kind']!r}")
    fault = Fault(**message["fault"])
    return {"kind": "fault", "fault": fault.to_frame(), "left": message["left"]}


def _lost(kind: FaultKind, message: str, data: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"kind": "fault", "fault": {"kind": kind, "message": message, "data": data or {}}}


def _timed_out(seconds: float, in_request: bool, what: str) -> dict[str, Any]:
    if in_request:
        return _lost("provider", f"{what} took more than {seconds:g} s, waiting for a model's reply")
    return _lost("timeout", f"{what} took more than {seconds:g} s and was stopped")
