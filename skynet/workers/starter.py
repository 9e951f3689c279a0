"""Starting workers: forked from a template, which is replaced when it is gone."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import tempfile
import threading
import time
from typing import IO

from skynet.workers.limits import interpreter
from skynet.workers.process import NUDGE_SECONDS, Process, StartFailed, WorkerError, WorkerSetup, signal_name

_READY_SECONDS = 90.0
_ORDER_SECONDS = 5.0
_DYING_SECONDS = 0.5
_CLOSE_SECONDS = 2.0
_PRINTED = 4_000  # bytes of what templates printed, told with an error


class Template:
    """A template's process; with `late` the workers import what the user's file imports, not the template."""

    def __init__(self, setup: WorkerSetup, errors: IO[bytes], late: bool) -> None:
        self._control, theirs = socket.socketpair()
        options = {
            "entry": setup.entry, "preload": setup.preload, "open_files": setup.limits.open_files, "late": late,
        }  # fmt: skip
        with theirs:
            self._process = subprocess.Popen(
                [*interpreter(setup.folder, *setup.hidden), str(theirs.fileno()), json.dumps(options)],
                env=setup.environment,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                cwd="/",
                start_new_session=True,
            )
        self._forks: bool | None = None

    def forks(self) -> bool:
        """Wait until it is ready; return whether it can fork workers. Raises StartFailed."""
        if self._forks is None:
            self._forks = self._told_when_ready() == b"f"
        return self._forks

    def _told_when_ready(self) -> bytes:
        deadline = time.monotonic() + _READY_SECONDS
        self._control.settimeout(NUDGE_SECONDS)
        while time.monotonic() < deadline:
            try:
                told = self._control.recv(1)
            except TimeoutError:
                self.nudge()
                continue
            if told:
                return told
            raise StartFailed("it ended before it was ready")
        raise StartFailed(f"it was not ready within {_READY_SECONDS:g} s")

    def order(self, process: Process) -> None:
        """Have it start a worker on these streams. Raises OSError when it is gone or does not listen."""
        self._control.settimeout(_ORDER_SECONDS)
        process.hand_over(self._control)

    def nudge(self) -> None:
        """Let it go on if something stopped it, as user code can."""
        self._process.send_signal(signal.SIGCONT)

    def ending(self) -> str:
        """Return how it ended; nothing where it still runs."""
        try:
            status = self._process.wait(timeout=_DYING_SECONDS)
        except subprocess.TimeoutExpired:
            return ""
        told = f"was ended by {''.join(signal_name(-status))}" if status < 0 else f"ended with exit status {status}"
        return f"the process that starts the workers {told}"

    def close(self) -> None:
        """Tell it to end, and see that it does."""
        self._control.close()
        self.nudge()
        try:
            self._process.wait(timeout=_CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Starter:
    """Starts the workers of one setup. All methods may be called from any thread."""

    def __init__(self, setup: WorkerSetup) -> None:
        self._setup = setup
        self._lock = threading.Lock()
        self._template: Template | None = None
        self._late = False
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as this object
        self._closed = False

    def warm(self) -> None:
        """Begin to start the template, without waiting for it."""
        with self._lock:
            if not self._closed:
                self._template = self._template or Template(self._setup, self._errors, self._late)

    def start(self) -> Process:
        """Return a new worker process, not loaded yet. Raises WorkerError.

        It is tried twice, the second time with a new template: the first may have been killed, by user code or by a
        system without memory.
        """
        try:
            return self._start()
        except StartFailed as first:
            try:
                return self._start()
            except StartFailed as second:
                again = "the same" if str(second) == str(first) else second
                told = f"{first}; at a second try: {again}"
                raise WorkerError(f"a worker process could not be started: {told}\n{self._printed()}".strip()) from None

    def _start(self) -> Process:
        used: Template | None = None
        process: Process | None = None
        try:
            process = Process()
            with self._lock:
                used = self._ready_template()
                used.order(process)
            process.await_start(used.nudge)
        except (OSError, StartFailed) as error:
            if process is not None:
                process.close()
            raise StartFailed(self._given_up(used) or str(error)) from error
        return process

    def _ready_template(self) -> Template:
        """Return a template that can fork; where imports start threads, one that leaves them to the workers."""
        while not self._closed:
            template = self._template = self._template or Template(self._setup, self._errors, self._late)
            if self._is_ready(template):
                return template
            self._late = True
        raise StartFailed("the workers are closed")

    def _is_ready(self, template: Template) -> bool:
        """Whether the template can fork. One that cannot, or is no template any more, is ended."""
        forks = False
        try:
            forks = template.forks()
        except (OSError, StartFailed) as error:
            raise StartFailed(template.ending() or str(error)) from error
        finally:
            if not forks:
                template.close()
                self._template = None
        return forks

    def _given_up(self, used: Template | None) -> str:
        """End the template where a start failed; return how it had ended by itself."""
        if used is None:
            return ""
        ending = used.ending()
        with self._lock:
            if self._template is used:
                used.close()
                self._template = None
        return ending

    def _printed(self) -> str:
        """Return the end of what the templates printed."""
        if self._errors.closed:
            return ""
        size = os.fstat(self._errors.fileno()).st_size
        return os.pread(self._errors.fileno(), _PRINTED, max(0, size - _PRINTED)).decode("utf-8", "replace").strip()

    def close(self) -> None:
        """End the template; workers that still run end with their own control sockets."""
        with self._lock:
            self._closed = True
            if self._template is not None:
                self._template.close()
            self._errors.close()
