"""The command target: a program that is given the artifact as a file and the input on stdin, and prints the output."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from skynet.artifact import Artifact
from skynet.target.base import TargetResult, Ticket
from skynet.target.folder import PrivateFolder
from skynet.target.worker_calls import WorkerCalls


class CommandTarget:
    """Runs the program once a case, below a worker that is killed with its whole tree on a timeout.

    `files` are the file names of the parts of a parts artifact. Nobody reports what the program spends, so the cost
    is None.
    """

    def __init__(self, calls: WorkerCalls, folder: PrivateFolder, files: Mapping[str, str]) -> None:
        self._calls = calls
        self._folder = folder
        self._files = dict(files)

    def load(self) -> TargetResult | None:
        """Look whether the program is there."""
        return self._calls.load()

    def run(self, artifact: Artifact, ticket: Ticket) -> TargetResult:
        """Run the program once."""
        payload = {"artifact": artifact.content, "files": self._files, "input": ticket.case.input}
        return replace(self._calls.run(payload, ticket), cost_usd=None)

    def clock_floor_ms(self) -> float | None:
        """Return what a run that starts no program is clocked at."""
        return self._calls.pool.clock_floor_ms()

    def close(self) -> None:
        """End the workers with what runs below them, and remove their files."""
        self._calls.pool.close()
        self._folder.close()
