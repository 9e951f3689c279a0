"""How the command line ends: its exit status, and an error as a message, with --json as an object on stdout too."""

from __future__ import annotations

import json
import os
import select
import sys
from collections.abc import Callable
from typing import Any

import typer

from skynet.errors import SkynetError

FAILED = 1
USAGE = 2  # wrong usage, or refused before anything was done
INTERRUPTED = 130

_WrongUsage: Any = typer.BadParameter.__base__  # typer keeps its own copy of click, under a private name


def status_of(run: Callable[[], object], as_json: bool) -> int:
    """Run the command line and return its exit status. `as_json`: whoever reads stdout reads JSON, whatever happens."""
    try:
        status = run()
        print(end="", flush=True)  # a pipe that nobody reads any more shows here, not while Python exits
    except _WrongUsage as error:
        error.show()
        return _refused(error.format_message(), as_json, USAGE)
    except SkynetError as error:
        typer.echo(f"Error: {error}", err=True)
        return _refused(str(error), as_json, USAGE)
    except typer.Abort:  # a question was answered with Ctrl-C or the end of input
        typer.echo("Aborted.", err=True)
        return INTERRUPTED
    except BrokenPipeError:  # whoever read us has read enough, as `head` does
        if not _is_unread(sys.stdout.fileno()):
            raise  # it was a pipe to another process: an error like any other
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except OSError as error:
        if error.filename is None:
            raise
        told = f"{error.filename}: {error.strerror}"
        typer.echo(f"Error: {told}", err=True)
        return _refused(told, as_json, FAILED)
    return status if isinstance(status, int) else 0


def _is_unread(descriptor: int) -> bool:
    poller = select.poll()
    poller.register(descriptor, 0)
    return bool(poller.poll(0))  # nothing but an error or a hang-up can come


def _refused(message: str, as_json: bool, status: int) -> int:
    if as_json:
        sys.stdout.write(json.dumps({"error": message}, indent=2) + "\n")
    return status
