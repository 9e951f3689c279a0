"""The score records of a run taken apart: one observation per trial and declared output."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from skynet.summary.coverage import State
from skynet.typed.protocol import NUMERIC_KINDS, Kind, MetricOutputSpec
from skynet.typed.scores import AgentEvalScoreStatus, AgentEvalTaskScore
from skynet.typed.tasks import AgentEvalTask
from skynet.typed.trials import AgentEvalTrial
from skynet.typed.validation import describe


@dataclass(frozen=True, slots=True)
class Observation:
    """One declared output on one trial. `value` is in its declared type, None where there is none."""

    task_id: str
    trial_id: str
    metric: str
    output: str
    kind: Kind
    state: State
    trial_failed: bool
    value: Any = None

    @property
    def number(self) -> float | None:
        """The value as a float, a bool as 1 or 0; None for a label, a model, NaN, or where there is none."""
        if self.value is None or self.kind not in NUMERIC_KINDS:
            return None
        try:
            number = float(self.value)
        except OverflowError:  # an int beyond every float
            return math.inf if self.value > 0 else -math.inf
        return None if math.isnan(number) else number

    @property
    def label(self) -> str | None:
        """The value of a label output; None otherwise."""
        return self.value if self.kind == "label" else None


def observe(
    tasks: Sequence[AgentEvalTask], trials: Sequence[AgentEvalTrial], scores: Sequence[AgentEvalTaskScore]
) -> list[Observation]:
    """Return the observations in the order of tasks, metrics, outputs and trials."""
    by_key = {(score.task_id, score.trial_id, score.metric_type): score for score in scores}
    by_task: dict[str, list[AgentEvalTrial]] = {}
    for trial in trials:
        by_task.setdefault(trial.task_id, []).append(trial)
    return [
        found
        for task in tasks
        for metric in map(describe, task.metrics)
        for trial in by_task[task.id]
        for found in _of_score(trial, by_key[task.id, trial.id, metric.type], metric.outputs)
    ]


def _of_score(
    trial: AgentEvalTrial, score: AgentEvalTaskScore, specs: Sequence[MetricOutputSpec]
) -> Iterator[Observation]:
    values = {output.name: output.value for output in score.outputs}
    for spec in specs:
        state: State = "scored" if spec.name in values else "missing"
        if score.status is AgentEvalScoreStatus.FAILED:
            state = "failed"
        yield Observation(
            task_id=trial.task_id,
            trial_id=trial.id,
            metric=score.metric_type,
            output=spec.name,
            kind=spec.kind,
            state=state,
            trial_failed=trial.failed,
            value=values.get(spec.name),
        )
