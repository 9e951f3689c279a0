"""The python target: the user's `run(artifact, input)` in a worker of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from skynet.artifact import Artifact
from skynet.models.door import ModelDoor
from skynet.target.base import TargetResult, Ticket
from skynet.target.worker_calls import WorkerCalls
from skynet.workers.pool import WorkerPool

if TYPE_CHECKING:
    from skynet.models.endpoint import Endpoint


class PythonTarget:
    """Runs `run` in the pool's workers."""

    def __init__(
        self,
        pool: WorkerPool,
        gateway: ModelDoor,
        timeout: float,
        passed: Sequence[str] = (),
        endpoint: Endpoint | None = None,
    ) -> None:
        self._calls = WorkerCalls(pool, gateway, timeout, passed, endpoint)

    def load(self) -> TargetResult | None:
        """Load the user's file."""
        return self._calls.load()

    def run(self, artifact: Artifact, ticket: Ticket) -> TargetResult:
        """Call `run(artifact, input)` once."""
        return self._calls.run({"artifact": artifact.content, "input": ticket.case.input}, ticket)

    def clock_floor_ms(self) -> float | None:
        """Return what a run that does nothing is clocked at."""
        return self._calls.pool.clock_floor_ms()

    def close(self) -> None:
        """End the workers."""
        self._calls.pool.close()
