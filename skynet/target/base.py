"""What every target is asked and answers: one run of one artifact on one case."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any, Protocol

from skynet.artifact import Artifact
from skynet.data.case import Case
from skynet.workers.fault import Fault


@dataclass(frozen=True, slots=True)
class Ticket:
    """Which run this is: the case and version that its model calls are booked on, the repetition, its random seed."""

    case: Case
    version: str
    repetition: int = 0
    seed: int = 0
    cancel: threading.Event | None = None


@dataclass(frozen=True, slots=True)
class TargetResult:
    """What came of one run. `fault` is None when it returned an output.

    `elapsed_ms` and `cost_usd` are the run's alone: no queue, no retry of ours, no metric. Cost is None when a part of
    it is unknown. A fault of kind `provider` is the provider's, every other one the version's.
    """

    output: Any = None
    fault: Fault | None = None
    elapsed_ms: float | None = None
    cost_usd: float | None = None
    model_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    stdout: str = ""
    stderr: str = ""
    trace: Any = field(default=None)


class Target(Protocol):
    """Runs an artifact on a case. Used from many threads at once."""

    def load(self) -> TargetResult | None:
        """Load the user's code, if there is any; return the failure, or None when it is ready."""
        ...

    def run(self, artifact: Artifact, ticket: Ticket) -> TargetResult:
        """Run the artifact once. Lets a stop of the run pass; every other failure is a fault in the result."""
        ...

    def clock_floor_ms(self) -> float | None:
        """Return the least that a run can be clocked at; None where the provider's own time is taken."""
        ...

    def close(self) -> None:
        """End what the target started."""
        ...
