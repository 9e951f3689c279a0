"""Holds a local model's process: starts it when it is first needed, talks to it, and ends it with the host."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import IO, Any

from skynet.models.backend import ProviderFault
from skynet.models.keys import SECRET_NAME

PROGRAM = Path(__file__).with_name("local_process.py")
LOAD_SECONDS = 600.0
WORDS_KEPT = 3


class LocalChild:
    """One model file in a process of its own; requests are answered one after another, in order of arrival.

    Serial on purpose: two at a time share batches, which changes replies, and were measured to be no faster. A process
    that died is started again at the next request.
    """

    def __init__(self, name: str, file: Path) -> None:
        self._name = name
        self._file = file
        self._turn = threading.Lock()
        self._process: ModelProcess | None = None
        self._closed = False

    @property
    def pid(self) -> int | None:
        """The process's id, None where none was started."""
        return self._process.pid if self._process else None

    def ask(self, body: dict[str, Any], timeout: float) -> dict[str, Any]:
        """Send one request and return the answer. `timeout` is in seconds, without waiting for a turn or for loading.

        Raises ProviderFault: of the attempt when the process died or was closed, of the request when it timed out, of
        the model when it cannot start.
        """
        with self._turn:
            if self._closed:
                raise self._was_closed()
            process = self._process if self._process is not None and self._process.alive else self._start()
            try:
                answer = process.exchange(body, timeout)
            except TimeoutError:
                self._drop()
                raise ProviderFault(
                    f"the local model {self._name} did not answer within {timeout:g} s; its process was ended and is "
                    "started again at the next call. A smaller max_tokens or a shorter prompt takes less time",
                    "request",
                ) from None
            if answer is None:
                raise self._died(process)
            return answer

    def close(self) -> None:
        """End the process, also under a request, which then fails."""
        self._closed = True
        process = self._process
        if process is not None:
            process.kill()  # a request under way holds the turn: this ends it
        with self._turn:
            self._drop()

    def _start(self) -> ModelProcess:
        self._drop()
        self._process = process = ModelProcess(self._file)
        try:
            first = process.receive(LOAD_SECONDS)
        except TimeoutError:
            first = {"error": f"it took longer than {LOAD_SECONDS:g} s"}
        if first is not None and "error" not in first:
            return process
        cause = first["error"] if first else process.how_it_ended()
        words = process.last_words()
        self._drop()
        if self._closed:
            raise self._was_closed()
        raise ProviderFault(
            f"the local model {self._name} could not be loaded from {self._file}: {cause}{words}", "model"
        )

    def _died(self, process: ModelProcess) -> ProviderFault:
        how, words = process.how_it_ended(), process.last_words()
        self._drop()
        if self._closed:
            return self._was_closed()
        return ProviderFault(
            f"the process of the local model {self._name} died during a request ({how}); it is started again at the "
            f"next one.{words}",
            "attempt",
        )

    def _was_closed(self) -> ProviderFault:
        return ProviderFault(f"the local model {self._name} was closed", "attempt")

    def _drop(self) -> None:
        if self._process is not None:
            self._process.end()
            self._process = None


class ModelProcess:
    """One running process of `local_process.py`: JSON lines over its stdin and stdout; stderr is kept for its words."""

    def __init__(self, file: Path) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process; `end` closes it
        # -P: the program's neighbours must not stand in for modules of the standard library.
        self._child = subprocess.Popen(
            [sys.executable, "-P", str(PROGRAM), str(file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,  # Ctrl-C is the host's to handle; the process ends when its stdin does
            env={name: value for name, value in os.environ.items() if not SECRET_NAME.search(name)},
        )
        self._unread = b""

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._child.pid

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._child.poll() is None

    def exchange(self, body: dict[str, Any], timeout: float) -> dict[str, Any] | None:
        """Send a request and return the answer; None when the process ended. Raises TimeoutError (seconds)."""
        assert self._child.stdin is not None
        try:
            self._child.stdin.write(json.dumps(body).encode() + b"\n")
            self._child.stdin.flush()
        except BrokenPipeError:
            return None
        return self.receive(timeout)

    def receive(self, timeout: float) -> dict[str, Any] | None:
        """Read one message; None when the process ended. Raises TimeoutError after `timeout` seconds."""
        assert self._child.stdout is not None
        pipe, deadline = self._child.stdout.fileno(), time.monotonic() + timeout
        while b"\n" not in self._unread:
            ready, _, _ = select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError
            chunk = os.read(pipe, 1 << 16)
            if not chunk:
                return None
            self._unread += chunk
        line, _, self._unread = self._unread.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        return message

    def how_it_ended(self) -> str:
        """Wait for the end of the process and return its exit status or signal in words."""
        code = self._child.wait()
        if code >= 0:
            return f"exit status {code}"
        hint = "; the system may have run out of memory" if -code == signal.SIGKILL else ""
        return f"killed by {signal.Signals(-code).name}{hint}"

    def last_words(self) -> str:
        """Return the first and the last lines that it wrote on stderr, or an empty string."""
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        said = lines if len(lines) <= 2 * WORDS_KEPT else [*lines[:WORDS_KEPT], "...", *lines[-WORDS_KEPT:]]
        return "".join(["\nIt wrote:"] + [f"\n  {line}" for line in said]) if said else ""

    def kill(self) -> None:
        """Kill it, from any thread."""
        self._child.kill()

    def end(self) -> None:
        """Kill it and free what it held."""
        self._child.kill()
        self._child.wait()
        for pipe in (self._child.stdin, self._child.stdout, self._errors):
            if pipe is not None:
                _close(pipe)


def _close(pipe: IO[bytes]) -> None:
    try:
        pipe.close()
    except BrokenPipeError:
        return  # what was still to be written has no reader any more
