"""The host's side of one worker process: its streams, its start, and its end with its whole tree."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from skynet.errors import SkynetError
from skynet.workers.limits import Limits
from skynet.workers.supervisor import STARTED, STATUS

_START_SECONDS = 30.0
_END_SECONDS = 6.0
NUDGE_SECONDS = 0.25  # how long to wait before looking whether a process of ours was stopped; user code can do that


class WorkerError(SkynetError):
    """A worker process could not be started at all: a fault of the machine or of the installation."""


class StartFailed(Exception):
    """A worker did not start this time; the text says why."""


@dataclass(frozen=True, slots=True)
class WorkerSetup:
    """What makes the workers of a pool: the entry (`module:function`), its config, the folder, and the limits.

    `config` must hold values that `frames.pack` takes; `preload` names modules that the template imports once;
    `endpoint` is where SDKs in the user's code find a model, each worker with its own token; empty for none.
    Nothing is imported from the folders in `hidden`.
    """

    entry: str
    folder: Path
    config: dict[str, object] = field(default_factory=dict)
    preload: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    endpoint: str = ""
    hidden: tuple[Path, ...] = ()


class Process:
    """One worker process with its three streams and the control socket of its supervisor."""

    def __init__(self) -> None:
        self.frames, frames_end = socket.socketpair()
        self.control, control_end = socket.socketpair()
        self.stdout, stdout_end = os.pipe()
        self.stderr, stderr_end = os.pipe()
        for stream in (self.stdout, self.stderr):
            os.set_blocking(stream, False)
        self._ends: tuple[int, ...] = (frames_end.detach(), stdout_end, stderr_end, control_end.detach())
        self.supervisor = 0
        self.pid = 0

    def hand_over(self, template: socket.socket) -> None:
        """Send the worker's ends of the streams to a template, and close our copies."""
        try:
            socket.send_fds(template, [b"+"], list(self._ends))
        finally:
            for end in self._ends:
                os.close(end)
            self._ends = ()

    def await_start(self, nudge: Callable[[], None]) -> None:
        """Wait until the supervisor tells the process ids; `nudge` is called while it is late. Raises StartFailed."""
        told = self._received(STARTED.size, _START_SECONDS, nudge)
        if told is None:
            raise StartFailed(f"it did not begin within {_START_SECONDS:g} s")
        if len(told) != STARTED.size:
            raise StartFailed("it ended before it began")
        self.supervisor, self.pid = STARTED.unpack(told)

    def _received(self, size: int, seconds: float, nudge: Callable[[], None]) -> bytes | None:
        """Return what the supervisor sends, less than `size` bytes where it ended; None when it takes too long."""
        deadline = time.monotonic() + seconds
        told = b""
        while len(told) < size and (left := deadline - time.monotonic()) > 0:
            self.control.settimeout(min(left, NUDGE_SECONDS))
            try:
                part = self.control.recv(size - len(told))
            except TimeoutError:
                nudge()
                continue
            except ConnectionError:  # our order crossed the supervisor's own end
                part = b""
            if not part:
                return told
            told += part
        return told if len(told) == size else None

    def ended_itself(self, seconds: float) -> bool:
        """Whether the supervisor tells within `seconds` that the worker is gone, without having been told to kill."""
        return bool(select.select([self.control], [], [], seconds)[0])

    def end(self) -> int | None:
        """Kill the whole tree, wait until it is gone, close the streams; return how the worker ended (waitpid's)."""
        with contextlib.suppress(OSError):  # the supervisor is gone: there is nobody to tell
            self.control.sendall(b"k")
        told = self._received(STATUS.size, _END_SECONDS, lambda: self._signal(signal.SIGCONT))
        if told is None:
            self._signal(signal.SIGKILL)  # what it leaves falls to the template, which kills it
        if told is None or len(told) != STATUS.size:
            with contextlib.suppress(OSError):
                os.killpg(self.pid, signal.SIGKILL)
        self.close()
        return int(STATUS.unpack(told)[0]) if told is not None and len(told) == STATUS.size else None

    def _signal(self, number: int) -> None:
        with contextlib.suppress(OSError):
            os.kill(self.supervisor, number)

    def close(self) -> None:
        """Close the streams; a worker that still runs ends then."""
        self.frames.close()
        self.control.close()
        for descriptor in (self.stdout, self.stderr, *self._ends):
            os.close(descriptor)


def signal_name(number: int) -> tuple[str, str]:
    """Return a signal's name, and what it hints at."""
    name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
    return name, "; the system may have run out of memory" if number == signal.SIGKILL else ""
