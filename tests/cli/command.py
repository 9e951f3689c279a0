"""The command line in this process, for tests: what a command printed and its exit status."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from typer.testing import CliRunner

from skynet.cli.main import USAGE, app
from skynet.errors import SkynetError


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
    """Run a command; `answer` is what stdin holds. A SkynetError is told as `main` tells it."""
    done = CliRunner().invoke(app, [str(argument) for argument in arguments], input=answer)
    if isinstance(done.exception, SkynetError):
        return Done(USAGE, done.stdout, f"{done.stderr}Error: {done.exception}\n")
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Done(done.exit_code, done.stdout, done.stderr)
