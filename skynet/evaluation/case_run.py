"""One execution: run the version on the case, score its output, and say which of the three failures it was, if any."""

from __future__ import annotations

import hashlib
import threading
from typing import Any

from skynet.artifact import Artifact
from skynet.data.case import Case
from skynet.engine import Failure
from skynet.evaluation.guards import Stop
from skynet.evaluation.record import Record
from skynet.evaluation.scoring import Metric, MetricResult
from skynet.evaluation.source_files import SourceChanged
from skynet.target.base import Target, TargetResult, Ticket
from skynet.workers.fault import Fault


def seed_of(*parts: object) -> int:
    """Return the random seed of a call: the same for the same run seed, case and repetition, in any order of calls."""
    return int.from_bytes(hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).digest()[:4], "big")


def ticket_for(
    seed: int, version: str, case: Case, repetition: int = 0, cancel: threading.Event | None = None
) -> Ticket:
    """Return the ticket of one execution in a run with this seed."""
    return Ticket(case, version, repetition, seed_of(seed, case.id, repetition), cancel)


def score_output(metric: Metric, ticket: Ticket, output: Any, measured: TargetResult | None) -> MetricResult:
    """Score an output. Lets a stop of the run pass, with `scoring` as it was: see metric_call_counts()."""
    try:
        scored = metric.score(ticket.case, output, ticket, measured)
    except SourceChanged:  # a new worker found that before it called `score()`
        raise
    except Stop as stop:
        stop.scoring = True
        raise
    if scored.fault is not None and scored.fault.kind == "cancelled":
        raise Stop("cancelled", scoring=scored.executed)
    return scored


def metric_call_counts(error: BaseException) -> bool:
    """Whether what ended score_output() ended a metric call: a stop knows, of anything else it has to be assumed."""
    return error.scoring if isinstance(error, Stop) else True


class CaseRunner:
    """Runs and scores one case at a time; used from many threads at once. It keeps no books and knows no budget."""

    def __init__(self, target: Target, metric: Metric, seed: int) -> None:
        self._target = target
        self._metric = metric
        self.seed = seed

    def run(self, artifact: Artifact, case: Case, repetition: int = 0, cancel: threading.Event | None = None) -> Record:
        """Execute once. Lets a stop of the run pass."""
        ticket = ticket_for(self.seed, artifact.id, case, repetition, cancel)
        result = self._target.run(artifact, ticket)
        if result.fault is not None and result.fault.kind == "cancelled":
            raise Stop("cancelled")
        if result.fault is not None:
            return self.failed(ticket, result)
        return self.score(ticket, result)

    def score(self, ticket: Ticket, result: TargetResult) -> Record:
        """Score what a target returned."""
        return _scored(ticket, result, score_output(self._metric, ticket, result.output, result))

    def failed(self, ticket: Ticket, result: TargetResult) -> Record:
        """Return the record of a run that ended with a fault."""
        fault = result.fault
        failure: Failure = "provider" if fault is not None and fault.kind == "provider" else "target"
        return Record(
            status="failed",
            failure=failure,
            fault=fault,
            feedback="" if fault is None else str(fault),
            stdout=result.stdout,
            stderr=result.stderr,
            **_common(ticket, result),
        )


def _scored(ticket: Ticket, result: TargetResult, scored: MetricResult) -> Record:
    common = _common(ticket, result) | {
        "output": result.output,
        "metric_ms": scored.elapsed_ms,
        "metric_called": scored.executed,
        "stdout": result.stdout + scored.stdout,
        "stderr": result.stderr + scored.stderr,
    }
    if scored.fault is not None:
        return Record(status="failed", failure=_side(scored.fault), fault=scored.fault, **common)
    if scored.unmeasured is not None:
        return Record(status="unmeasured", feedback=scored.unmeasured, **common)
    return Record(
        status="ok",
        score=scored.score,
        feedback=scored.feedback,
        scores=scored.scores,
        side_info=scored.side_info,
        warnings=scored.warnings,
        **common,
    )


def _side(fault: Fault) -> Failure:
    return "provider" if fault.kind == "provider" else "metric"


def _common(ticket: Ticket, result: TargetResult) -> dict[str, Any]:
    return {
        "version": ticket.version,
        "case": ticket.case.id,
        "repetition": ticket.repetition,
        "elapsed_ms": result.elapsed_ms,
        "cost_usd": result.cost_usd,
        "model_calls": result.model_calls,
        "prompt_tokens": result.prompt_tokens,
        "completion_tokens": result.completion_tokens,
        "trace": result.trace,
    }
