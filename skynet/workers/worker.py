"""The host's end of one worker: it sends an order, waits under the limits, collects prints, and serves requests."""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

from skynet.workers import hang
from skynet.workers.asks import Ask, Asks
from skynet.workers.clock import CallClock
from skynet.workers.family import Family
from skynet.workers.fault import Fault, FaultKind
from skynet.workers.frames import REPLY_LEVELS, Unsupported, decode, encode, pack
from skynet.workers.limits import MIB, Limits
from skynet.workers.process import Process, signal_name
from skynet.workers.process_table import SharedTable, memory_below
from skynet.workers.replies import WorkerReply, checked, garbled, lost, timed_out
from skynet.workers.wire import Prints, Wire

Around = Callable[[str, CallClock], AbstractContextManager[object]]

_SLICE_SECONDS = 0.05  # how often a long call is looked at: memory, cancellation, the clock
_DYING_SECONDS = 0.5
_DUMP_SECONDS = 0.3  # how long a worker that hangs may take to say where
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


class WorkerHandle:
    """One worker process and the calls made to it; used by one thread at a time. `key` names what it has loaded."""

    def __init__(self, process: Process, limits: Limits, key: str = "") -> None:
        self.key = key
        self._process = process
        self._limits = limits
        self._wire = Wire(process)
        self._family = Family(process.supervisor, process.pid)
        self._most = limits.output + MIB
        self._config: dict[str, Any] = {}
        self.token = secrets.token_urlsafe(24)  # told to the worker when it loads; whoever bears it speaks for its call
        self._is_ended = False
        self._status: int | None = None
        self.clean = True

    def load(
        self, config: dict[str, Any], seconds: float, cancel: threading.Event | None, endpoint: str = ""
    ) -> Outcome:
        """Have the worker load the user's file; SDKs in it find a model at `endpoint`, if there is one."""
        sdk = {"OPENAI_BASE_URL": endpoint, "OPENAI_API_KEY": self.token} if endpoint else {}
        self._config = config
        order = {"kind": "load", "config": pack(config), "environment": sdk}
        outcome = self._run(order, seconds, None, cancel, "loading the file")
        self._family.accept()
        return replace(outcome, loading=True)

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
        try:
            packed = pack(payload)
        except Unsupported as error:
            fault = Fault("bad_output", f"what the call is to be given cannot cross to its process: {error}")
            return Outcome("bad_output", None, fault)
        order = {"kind": "call", "payload": packed, "seed": seed, "most": self._limits.output}
        clock = CallClock()
        with around(self.token, clock):
            outcome = self._run(order, seconds, ask, cancel, "the call", clock)
        if self.clean and self._family.has_strangers():
            self.clean = False
        return outcome

    def ping(self, seconds: float) -> Outcome:
        """Have the worker answer without doing anything."""
        return self._run({"kind": "ping"}, seconds, None, None, "the answer")

    def is_quiet(self) -> bool:
        """Whether the worker waits for an order, as it should; one that spoke unasked, or ended, serves no call."""
        return self._wire.is_quiet()

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
        number = secrets.randbits(48) + 1
        frame = encode(order | {"number": number})
        clock = clock or CallClock()
        asks = Asks(self._wire, ask, clock)
        reply: WorkerReply | None = None
        try:
            self._wire.send(frame, seconds)
            message = self._await_reply(seconds, asks, cancel, clock, prints, what)
            reply = checked(message, number, order["kind"] == "load") if isinstance(message, dict) else message
        except OSError:
            reply = None
        except ValueError as error:
            reply = garbled(error)
        elapsed = clock.elapsed() * 1000
        self._wire.drain(prints)
        reply = reply or self._ended()
        if not reply.clean or not asks.are_settled():
            self.clean = False
        stdout, stderr = (prints[stream].text() for stream in (self._process.stdout, self._process.stderr))
        kind = "ok" if reply.fault is None else reply.fault.kind
        return Outcome(kind, reply.value, reply.fault, stdout, stderr, elapsed)

    def _await_reply(
        self,
        seconds: float,
        asks: Asks,
        cancel: threading.Event | None,
        clock: CallClock,
        prints: dict[int, Prints],
        what: str,
    ) -> dict[str, Any] | WorkerReply | None:
        """Return the worker's message that is no request; or what stands for it; None where the worker ended."""
        look_at = time.monotonic() + _SLICE_SECONDS
        while True:
            left = seconds - clock.elapsed()
            if left <= 0:
                return self._timed_out(seconds, clock.in_request, what, prints)
            self._wire.wait(min(left, _SLICE_SECONDS), prints)
            while (body := self._wire.next_frame(self._most)) is not None:
                message = decode(body, REPLY_LEVELS)
                if message.get("kind") != "ask":
                    return message
                asks.take(message)
            if self._wire.closed:
                return None
            if cancel is not None and cancel.is_set():
                return lost("cancelled", "the run was stopped while this call was under way")
            if (now := time.monotonic()) >= look_at:  # not the clock's time, which may stand still
                look_at = now + _SLICE_SECONDS
                if (held := memory_below(_TABLE.get(), self._process.supervisor)) > self._limits.memory:
                    limit = self._limits.memory / MIB
                    return lost("memory", f"it held {held / MIB:,.0f} MiB; the limit is {limit:,.0f}")

    def _timed_out(self, seconds: float, in_request: bool, what: str, prints: dict[int, Prints]) -> WorkerReply:
        place = self._stands_at(prints)
        source = hang.source_line(self._config, *place) if place else ""
        return timed_out(seconds, in_request, what, place, source)

    def _stands_at(self, prints: dict[int, Prints]) -> tuple[str, int] | None:
        """Return file and line at which the user's code is, None where the worker cannot tell."""
        try:
            os.kill(self._process.pid, hang.SIGNAL)
        except ProcessLookupError:
            return None
        return hang.place_of(self._wire.last_words(_DUMP_SECONDS, prints), self._config)

    def _ended(self) -> WorkerReply:
        # A worker that closed its descriptors may live on: then the kill is ours, and says nothing of how it ended.
        itself = self._process.ended_itself(_DYING_SECONDS)
        status = self.end()
        if not itself:
            return lost("died", "the process closed the descriptor that Skynet gave it")
        if status is not None and os.WIFSIGNALED(status):
            name, hint = signal_name(os.WTERMSIG(status))
            return lost("died", f"the process was ended by {name}{hint}", {"signal": name})
        if status is not None and os.WIFEXITED(status) and os.WEXITSTATUS(status):
            code = os.WEXITSTATUS(status)
            return lost("died", f"the process ended itself with exit status {code}", {"exit_status": code})
        return lost("died", "the process ended itself or closed the descriptor that Skynet gave it")

    def end(self) -> int | None:
        """Kill the worker's whole tree and wait until it is gone; return how it ended, as waitpid tells it."""
        self.clean = False
        if not self._is_ended:
            self._is_ended = True
            self._status = self._process.end()
            self._family.close()
        return self._status
