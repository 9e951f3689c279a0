"""Records as tests need them."""

from __future__ import annotations

from typing import Any

from skynet.evaluation.record import Record
from skynet.workers.fault import Fault


def scored(score: float, case: str = "a", version: str = "v", repetition: int = 0) -> Record:
    return Record(version, case, repetition, "ok", score=score, metric_called=True)


def unmeasured(case: str = "a", version: str = "v") -> Record:
    return Record(version, case, 0, "unmeasured", feedback="no reading", metric_called=True)


def failed(failure: Any, case: str = "a", version: str = "v", line: int = 3, **data: Any) -> Record:
    """A record of a failure at a line of a file."""
    kind: Any = "provider" if failure == "provider" else "raised"
    fault = Fault(kind, "it went wrong", type="ValueError", file="run.py", line=line, data=data)
    return Record(version, case, 0, "failed", failure=failure, fault=fault, metric_called=failure == "metric")
