"""The host's side of processes: starting a template or a solo worker, and ending a worker with its whole tree."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from skynet.errors import SkynetError
from skynet.workers import process_table
from skynet.workers.limits import Limits, interpreter
from skynet.workers.supervisor import STARTED, STATUS

_START_SECONDS = 30.0
_END_SECONDS = 6.0


class WorkerError(SkynetError):
    """A worker process could not be started at all: a fault of the machine or of the installation."""


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
        self._ends = (frames_end.detach(), stdout_end, stderr_end, control_end.detach())
        self.supervisor = 0
        self.pid = 0
        self._children: int | None = None

    def hand_over(self, template: socket.socket) -> None:
        """Send the worker's ends of the streams to a template, and close our copies."""
        try:
            socket.send_fds(template, [b"+"], list(self._ends))
        finally:
            for end in self._ends:
                os.close(end)

    def await_start(self) -> None:
        """Wait until the supervisor tells the process ids. Raises WorkerError."""
        self.control.settimeout(_START_SECONDS)
        try:
            told = self.control.recv(STARTED.size, socket.MSG_WAITALL)
        except TimeoutError:
            told = b""
        if len(told) != STARTED.size:
            raise WorkerError("a worker process did not start; is the machine out of memory or processes?")
        self.supervisor, self.pid = STARTED.unpack(told)
        with contextlib.suppress(OSError):  # a kernel without this file: orphans() scans the process table instead
            self._children = os.open(f"/proc/{self.supervisor}/task/{self.supervisor}/children", os.O_RDONLY)

    def orphans(self) -> bool:
        """Whether a process that the worker started has left its family and still runs."""
        if self._children is None:
            found = process_table.children(process_table.scan(), self.supervisor)
            return any(pid != self.pid for pid in found)
        try:
            told = os.pread(self._children, 4096, 0)
        except OSError:
            return True  # the supervisor is gone; so must the worker be
        return any(int(pid) != self.pid for pid in told.split())

    def ended_itself(self, seconds: float) -> bool:
        """Whether the supervisor tells within `seconds` that the worker is gone, without having been told to kill."""
        return bool(select.select([self.control], [], [], seconds)[0])

    def end(self) -> int | None:
        """Kill the whole tree, wait until it is gone, close the streams; return how the worker ended (waitpid's)."""
        with contextlib.suppress(OSError):  # the supervisor is gone: there is nobody to tell
            self.control.sendall(b"k")
        status = self._await_end()
        self.frames.close()
        self.control.close()
        for descriptor in (self.stdout, self.stderr, self._children):
            if descriptor is not None:
                os.close(descriptor)
        return status

    def _await_end(self) -> int | None:
        deadline = time.monotonic() + _END_SECONDS
        told = b""
        while (left := deadline - time.monotonic()) > 0:
            self.control.settimeout(left)
            try:
                part = self.control.recv(STATUS.size)
            except TimeoutError:
                break
            except ConnectionError:  # our order crossed the supervisor's own end
                part = b""
            if not part:
                return int(STATUS.unpack(told)[0]) if len(told) == STATUS.size else None
            told += part
        if self.pid:
            with contextlib.suppress(OSError):
                os.killpg(self.pid, signal.SIGKILL)
        return None


class Starter:
    """Starts the workers of one setup: forked from a template, or each in an interpreter where forks are unsafe."""

    def __init__(self, setup: WorkerSetup) -> None:
        self._setup = setup
        self._lock = threading.Lock()
        self._control: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._forks: bool | None = None
        self._solos: list[subprocess.Popen[bytes]] = []
        self._template_errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as this object

    def warm(self) -> None:
        """Begin to start the template, without waiting for it."""
        with self._lock:
            if self._process is None:
                self._process, self._control = self._exec(solo=False)

    def start(self) -> Process:
        """Return a new worker process, not loaded yet. Raises WorkerError."""
        self.warm()
        process = Process()
        with self._lock:
            if self._can_fork() and self._control is not None:
                process.hand_over(self._control)
            else:
                solo, control = self._exec(solo=True)
                process.hand_over(control)
                control.close()
                self._solos = [child for child in self._solos if child.poll() is None] + [solo]
        process.await_start()
        return process

    def _can_fork(self) -> bool:
        if self._forks is None and self._control is not None:
            ready, _, _ = select.select([self._control], [], [], 60 + _START_SECONDS)
            told = self._control.recv(1) if ready else b""
            if not told:
                raise WorkerError(f"the template of the workers did not start:\n{self._told_errors()}")
            self._forks = told == b"f"
            if not self._forks:
                self._control.close()
                self._control = None
        return bool(self._forks)

    def _told_errors(self) -> str:
        self._template_errors.seek(0)
        return self._template_errors.read(4000).decode("utf-8", "replace").strip() or "it printed nothing"

    def _exec(self, solo: bool) -> tuple[subprocess.Popen[bytes], socket.socket]:
        ours, theirs = socket.socketpair()
        setup = self._setup
        options = {
            "entry": setup.entry, "preload": setup.preload, "open_files": setup.limits.open_files, "solo": solo,
        }  # fmt: skip
        with theirs:
            process = subprocess.Popen(
                [*interpreter(setup.folder, *setup.hidden), str(theirs.fileno()), json.dumps(options)],
                env=setup.environment,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._template_errors,
                cwd="/",
                start_new_session=True,
            )
        return process, ours

    def close(self) -> None:
        """End the template; workers that still run end with their own control sockets."""
        with self._lock:
            if self._control is not None:
                self._control.close()
            for process in [self._process, *self._solos]:
                if process is not None:
                    _wait_or_kill(process)
            self._template_errors.close()


def _wait_or_kill(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(timeout=2)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
