"""One trial scored by one metric."""

from __future__ import annotations

from typing import Any

from skynet.typed.protocol import CandidateOutput, DatasetRow, Metric, MetricInput
from skynet.typed.scores import (
    AgentEvalDiagnostic,
    AgentEvalDiagnosticSeverity,
    AgentEvalScoreStatus,
    AgentEvalTaskScore,
)
from skynet.typed.tasks import AgentEvalTask
from skynet.typed.trials import AgentEvalTrial
from skynet.typed.validation import compute


async def score_trial(
    run_id: str, task: AgentEvalTask, trial: AgentEvalTrial, metric: Metric, row_index: int, *, fail_fast: bool
) -> AgentEvalTaskScore:
    """Return the score record. What the metric raises makes it a failed one, or is raised with `fail_fast`."""
    if trial.failed:
        return _failed(run_id, trial, metric, _of_trial(trial))
    try:
        result = await compute(metric, metric_input(task, trial, row_index))
    except Exception as error:
        if fail_fast:
            raise
        return _failed(run_id, trial, metric, _of_metric(metric, error))
    info = AgentEvalDiagnosticSeverity.INFO
    return AgentEvalTaskScore(
        **_identity(run_id, trial, metric),
        status=AgentEvalScoreStatus.COMPLETED,
        outputs=result.outputs,
        diagnostics=[
            AgentEvalDiagnostic(severity=info, message=found.message, source=metric.type, details=found.details or {})
            for found in result.diagnostics
        ],
    )


def metric_input(task: AgentEvalTask, trial: AgentEvalTrial, row_index: int | None = None) -> MetricInput:
    """Return what a metric receives of a trial."""
    output = trial.output
    candidate = CandidateOutput(
        output_text=output.output_text if output else None,
        response=output.response if output else None,
        evidence=trial.evidence,
        metadata={**trial.metadata, **(output.metadata if output else {})},
    )
    return MetricInput(row=DatasetRow(row_index=row_index, data=_row(task, trial)), candidate=candidate)


def _row(task: AgentEvalTask, trial: AgentEvalTrial) -> dict[str, Any]:
    return {
        "task": {"id": task.id, "intent": task.intent, "metadata": dict(task.metadata)},
        "inputs": dict(task.inputs),
        "reference": dict(task.reference),
        "trial": {
            "id": trial.id,
            "task_id": trial.task_id,
            "status": trial.status.value,
            "error": None if trial.error is None else trial.error.model_dump(mode="json"),
            "measurements": trial.measurements.model_dump(mode="json"),
            "metadata": dict(trial.metadata),
        },
    }


def _failed(run_id: str, trial: AgentEvalTrial, metric: Metric, diagnostic: AgentEvalDiagnostic) -> AgentEvalTaskScore:
    return AgentEvalTaskScore(
        **_identity(run_id, trial, metric), status=AgentEvalScoreStatus.FAILED, diagnostics=[diagnostic]
    )


def _identity(run_id: str, trial: AgentEvalTrial, metric: Metric) -> dict[str, Any]:
    name = f"{run_id}:{trial.task_id}:{trial.id}:{metric.type}"
    return {
        "id": name, "run_id": run_id, "task_id": trial.task_id, "trial_id": trial.id, "metric_type": metric.type
    }  # fmt: skip


def _of_trial(trial: AgentEvalTrial) -> AgentEvalDiagnostic:
    words = trial.error.message if trial.error and trial.error.message else "the trial failed"
    details = {"trial_status": trial.status.value}
    return AgentEvalDiagnostic(severity=AgentEvalDiagnosticSeverity.ERROR, message=words, details=details)


def _of_metric(metric: Metric, error: Exception) -> AgentEvalDiagnostic:
    name = type(error).__name__
    return AgentEvalDiagnostic(
        severity=AgentEvalDiagnosticSeverity.ERROR,
        message=str(error) or name,
        source=metric.type,
        details={"exception_type": name},
    )
