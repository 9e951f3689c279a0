"""The entry of a worker that runs a command target's program, once for each call.

The worker is what is timed, watched and killed with its whole tree. This module runs inside user workers: it imports
nothing heavy.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from skynet.workers.fault import Fault, Refused
from skynet.workers.runtime import Ask, Loaded

PLACE = "{artifact}"


def command_target(config: dict[str, Any]) -> Loaded:
    """Serve runs of `argv` in `folder`; artifacts are written below `private`, a text under the name `file`."""
    argv, folder = list(config["argv"]), config["folder"]
    os.chdir(folder)
    _check_program(argv[0], folder)

    def handler(payload: dict[str, Any], ask: Ask) -> str:
        with tempfile.TemporaryDirectory(dir=config["private"]) as private:
            path = _written(payload["artifact"], payload["files"], Path(private) / config["file"])
            return _output([argument.replace(PLACE, str(path)) for argument in argv], payload["input"])

    return Loaded(handler, folder)


def _check_program(program: str, folder: str) -> None:
    """Raise Refused when there is no such program, so that it is told before the first case."""
    if PLACE not in program and shutil.which(program) is None:
        where = f"in {folder}" if os.sep in program else f"on the PATH; write ./{program} for one in {folder}"
        raise Refused(Fault("raised", f"[target] argv: there is no executable program {program!r} {where}."))


def _written(content: str | Mapping[str, str], files: Mapping[str, str], path: Path) -> Path:
    """Write a text into the file, or parts into a folder of that name, each under its file's name."""
    if isinstance(content, str):
        path.write_text(content, encoding="utf-8", errors="surrogatepass", newline="")
        return path
    path.mkdir()
    for name, text in content.items():
        (path / files[name]).write_text(text, encoding="utf-8", errors="surrogatepass", newline="")
    return path


def _output(argv: list[str], values: dict[str, Any]) -> str:
    """Return what the program printed, less one line break at its end. Its stderr is the worker's own."""
    sent = json.dumps(values, default=str).encode("ascii")
    try:
        done = subprocess.run(argv, input=sent, stdout=subprocess.PIPE, check=False)
    except OSError as error:
        raise Refused(Fault("raised", f"{argv[0]} could not be started: {error.strerror}", "CommandFailed")) from None
    if done.returncode != 0:
        sys.stdout.write(done.stdout.decode("utf-8", "replace"))  # among the prints of the failed case
        raise Refused(Fault("raised", f"{argv[0]} {_ended(done.returncode)}", "CommandFailed"))
    try:
        return done.stdout.decode("utf-8").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise Refused(Fault("bad_output", f"stdout is not UTF-8 text (byte {error.start})", "CommandFailed")) from None


def _ended(status: int) -> str:
    if status > 0:
        return f"ended with exit status {status}"
    known = -status in set(signal.Signals)
    return f"was ended by {signal.Signals(-status).name if known else f'signal {-status}'}"
