"""The command line for tests: in this process, what a command printed and its exit status; or on a terminal."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

from typer.testing import CliRunner

from skynet.cli.ending import status_of
from skynet.cli.main import app


@dataclass(frozen=True)
class Done:
    """A command that has ended."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What stdout holds, which must be JSON and nothing else."""
        return json.loads(self.out)


def skynet(*arguments: object, answer: str | None = None) -> Done:
    """Run a command as `main` does; `answer` is what stdin holds."""
    words = [str(argument) for argument in arguments]
    with CliRunner().isolation(input=answer) as (out, err, _):
        status = status_of(lambda: app(words, prog_name="skynet", standalone_mode=False), "--json" in words)
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        return Done(status, out.getvalue().decode(), err.getvalue().decode())


def on_a_terminal(*arguments: object, columns: int = 80, **variables: str) -> str:
    """Return what a command shows on a terminal of so many columns."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "skynet.cli.main", *map(str, arguments)]
    env = {**os.environ, "COLUMNS": str(columns), "TERM": "xterm", **variables}
    shown = b""
    with subprocess.Popen(command, stdout=theirs, stderr=theirs, stdin=theirs, env=env):
        os.close(theirs)
        while part := _read(ours):
            shown += part
    os.close(ours)
    return shown.decode()


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 4096)
    except OSError:  # Linux tells the end of a terminal by an error
        return b""
