"""The metric in its workers: one output in, a checked score, an unmeasured case, or a failure out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from skynet.data.case import Case
from skynet.engine import Failure, Status
from skynet.evaluation.record import Record
from skynet.models.calls import Scope
from skynet.models.door import ModelDoor
from skynet.target.base import TargetResult, Ticket
from skynet.target.model_calls import ModelCalls
from skynet.workers.fault import Fault
from skynet.workers.pool import WorkerPool
from skynet.workers.worker import Outcome


@dataclass(frozen=True, slots=True)
class MetricResult:
    """What came of one `score()`. Exactly one of `score`, `unmeasured` and `fault` is set."""

    score: float | None = None
    unmeasured: str | None = None
    fault: Fault | None = None
    feedback: str = ""
    scores: dict[str, float] = field(default_factory=dict)
    side_info: dict[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    elapsed_ms: float = 0.0
    stdout: str = ""
    stderr: str = ""
    executed: bool = True

    @property
    def no_model(self) -> bool:
        """Whether it failed for want of a model."""
        return self.fault is not None and "no_model" in self.fault.data


class Metric:
    """The user's `score`, run in the pool's workers. Used from many threads at once."""

    def __init__(self, pool: WorkerPool, gateway: ModelDoor, timeout: float) -> None:
        self._pool = pool
        self._gateway = gateway
        self._timeout = timeout

    def load(self) -> Outcome:
        """Load the metric; the value holds `warnings`, `calls_llm` and `reward_spec`."""
        return self._pool.load()

    def score(self, case: Case, output: Any, ticket: Ticket, measured: TargetResult | None) -> MetricResult:
        """Score one output. `measured` is what the target call measured, None where no target call made the output."""
        calls = ModelCalls(
            self._gateway, "metric", Scope(case=case.id, version=ticket.version), self._timeout, ticket.cancel
        )
        outcome = self._pool.call(
            {
                "input": case.input,
                "output": output,
                "expected": case.expected,
                "trace": None if measured is None else measured.trace,
                "observation": observation_of(measured),
            },
            timeout=self._timeout,
            ask=calls.answer,
            seed=ticket.seed,
            cancel=ticket.cancel,
        )
        calls.end()
        if calls.stop is not None:
            raise calls.stop
        return _result(outcome, calls)

    def through(self, models: ModelDoor) -> Metric:
        """Return the same metric in the same workers, asking through another door."""
        return Metric(self._pool, models, self._timeout)

    def close(self) -> None:
        """End the workers."""
        self._pool.close()


def as_result(record: Record) -> MetricResult:
    """Return the metric's part of a record."""
    return MetricResult(
        score=record.score,
        unmeasured=record.feedback if record.status == "unmeasured" else None,
        fault=record.fault,
        feedback=record.feedback,
        scores=dict(record.scores),
        side_info=dict(record.side_info),
        warnings=record.warnings,
        elapsed_ms=record.metric_ms or 0.0,
        stderr=record.stderr,
        executed=record.metric_called,
    )


def as_record(result: MetricResult, version: str, case: str, repetition: int, output: Any) -> Record:
    """Return a record of a score that no target call belongs to."""
    fault = result.fault
    failure: Failure | None = None
    if fault is not None:
        failure = "provider" if fault.kind == "provider" else "metric"
    status: Status = "failed" if fault is not None else "unmeasured" if result.unmeasured is not None else "ok"
    return Record(
        version=version,
        case=case,
        repetition=repetition,
        status=status,
        failure=failure,
        score=result.score,
        output=output,
        feedback=result.feedback if result.unmeasured is None else result.unmeasured,
        scores=dict(result.scores),
        side_info=dict(result.side_info),
        fault=fault,
        warnings=result.warnings,
        metric_ms=result.elapsed_ms,
        metric_called=result.executed,
        stdout=result.stdout,
        stderr=result.stderr,
    )


def observation_of(measured: TargetResult | None) -> dict[str, Any] | None:
    """Return what `observation()` shows inside the metric."""
    if measured is None:
        return None
    names = ("elapsed_ms", "cost_usd", "model_calls", "prompt_tokens", "completion_tokens")
    return {name: getattr(measured, name) for name in names}


def _result(outcome: Outcome, calls: ModelCalls) -> MetricResult:
    told: dict[str, Any] = {
        "elapsed_ms": outcome.elapsed_ms,
        "stdout": outcome.stdout,
        "stderr": outcome.stderr,
        "executed": not outcome.loading,
    }
    fault = calls.provider_fault or outcome.fault
    if fault is not None:
        return MetricResult(fault=fault, **told)
    value = outcome.value
    if "unmeasured" in value:
        return MetricResult(unmeasured=value["unmeasured"], **told)
    return MetricResult(
        score=value["score"],
        feedback=value["feedback"],
        scores=value["scores"],
        side_info=value["side_info"],
        warnings=tuple(value["warnings"]),
        **told,
    )
