"""The summary of a run: one row per output, per view and per pass@k, and the coverage behind them."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from skynet.summary.coverage import count_states
from skynet.summary.pass_at_k import pass_at_k
from skynet.summary.views import reduce_view
from skynet.typed.aggregates import (
    AggregatedMetricResult,
    AggregateLabelScore,
    AggregateRangeScore,
    label_row,
    number_row,
)
from skynet.typed.observations import Observation, observe
from skynet.typed.protocol import output_row
from skynet.typed.scores import AgentEvalTaskScore
from skynet.typed.strict_json import Loose
from skynet.typed.tasks import VIEW_PREFIX, AgentEvalTask, SemanticView
from skynet.typed.trials import AgentEvalTrial

PASS = 1.0  # a continuous or boolean value of at least this is a pass
UNKNOWN_ERROR = "UnknownError"

Numbers = dict[tuple[str, str], float | None]
Key = TypeVar("Key", bound=Hashable)
Item = TypeVar("Item")


class AgentEvalMetricOutputCoverage(BaseModel):
    """On how many trials an output was scored, left out, or lost to a failure. total is their sum."""

    total: int
    scored: int
    missing: int
    failed: int


class TrialMetricValue(BaseModel):
    """One output's value on one trial."""

    trial_id: str
    value_type: Literal["number", "label", "missing"]
    value: Loose = None


class AgentEvalSummary(BaseModel):
    """The roll-up of a run. pass@k stands apart from the rows of outputs and views.

    error_trial_ids holds the trials that failed or carry an error, by its class; error_count is their number.
    """

    model_config = ConfigDict(extra="forbid")

    scores: AggregatedMetricResult
    pass_at_k: AggregatedMetricResult
    metric_coverage: dict[str, dict[str, AgentEvalMetricOutputCoverage]]
    task_metric_values: dict[str, dict[str, list[TrialMetricValue]]]
    error_trial_ids: dict[str, list[str]] = Field(default_factory=dict)
    task_count: int
    trial_count: int
    score_count: int
    error_count: int

    def score(self, name: str) -> AggregateRangeScore | AggregateLabelScore:
        """Return the row of an output or a view. Raises KeyError naming the rows there are."""
        return self.scores.score(name)

    def to_json(self) -> dict[str, Any]:
        """Return the summary as strict JSON values."""
        loaded: dict[str, Any] = json.loads(self.model_dump_json())
        return loaded


def summarize(
    tasks: Sequence[AgentEvalTask], trials: Sequence[AgentEvalTrial], scores: Sequence[AgentEvalTaskScore]
) -> AgentEvalSummary:
    """Return the summary of a run's records."""
    observations = observe(tasks, trials, scores)
    by_output = _grouped(observations, lambda found: (found.metric, found.output))
    rows = [_output_row(*key, found) for key, found in by_output.items() if found[0].kind != "model"]
    errors = _errors(trials)
    return AgentEvalSummary(
        scores=AggregatedMetricResult(scores=[*rows, *_view_rows(tasks, trials, observations)]),
        pass_at_k=AggregatedMetricResult(scores=[*_pass_rows(by_output)]),
        metric_coverage=_coverage(by_output),
        task_metric_values=_values(observations),
        error_trial_ids=errors,
        task_count=len(tasks),
        trial_count=len(trials),
        score_count=len(scores),
        error_count=sum(map(len, errors.values())),
    )


def _output_row(metric: str, output: str, found: Sequence[Observation]) -> AggregateRangeScore | AggregateLabelScore:
    name = output_row(metric, output)
    if all(observation.kind == "label" for observation in found):
        return label_row(name, [observation.label for observation in found])
    return number_row(name, [observation.number for observation in found])


def _view_rows(
    tasks: Sequence[AgentEvalTask], trials: Sequence[AgentEvalTrial], observations: Sequence[Observation]
) -> list[AggregateRangeScore]:
    by_task = _grouped(trials, lambda trial: trial.task_id)
    numbers: dict[tuple[str, str], Numbers] = {}
    for found in observations:
        numbers.setdefault((found.task_id, found.trial_id), {})[found.metric, found.output] = found.number
    values: dict[str, list[float | None]] = {}
    for task in tasks:
        for name, view in task.views.items():
            values.setdefault(name, []).extend(
                None if trial.failed else view_value(view, numbers[task.id, trial.id]) for trial in by_task[task.id]
            )
    return [number_row(output_row(VIEW_PREFIX, name), column) for name, column in values.items()]


def view_value(view: SemanticView, numbers: Numbers) -> float | None:
    """Return a view's value on one trial, whose numbers stand by metric and output."""
    return reduce_view(
        view.reducer.value,
        [numbers[signal.metric, signal.output] for signal in view.signals],
        weights=[signal.weight for signal in view.signals],
        missing=view.missing,
    )


def _pass_rows(by_output: dict[tuple[str, str], list[Observation]]) -> list[AggregateRangeScore]:
    """One row per k up to the most trials of a task. Its values are the tasks' own; too few trials is no value.

    A failed trial did not pass. A trial that the metric failed on or left out is not among the trials.
    """
    rows: list[AggregateRangeScore] = []
    for (metric, output), found in by_output.items():
        scored = [observation for observation in found if observation.kind in ("continuous", "boolean")]
        by_task = list(_grouped(scored, lambda observation: observation.task_id).values())
        counts = [_trials_and_passes(group) for group in by_task]
        for k in range(1, max(map(len, by_task), default=0) + 1):
            values = [pass_at_k(trials, passes, k) for trials, passes in counts]
            rows.append(number_row(f"{output_row(metric, output)}.pass@{k}", values))
    return rows


def _trials_and_passes(found: Iterable[Observation]) -> tuple[int, int]:
    tried = [observation for observation in found if observation.trial_failed or observation.number is not None]
    numbers = [observation.number for observation in tried]
    return len(numbers), sum(number is not None and number >= PASS for number in numbers)


def _coverage(
    by_output: dict[tuple[str, str], list[Observation]],
) -> dict[str, dict[str, AgentEvalMetricOutputCoverage]]:
    coverage: dict[str, dict[str, AgentEvalMetricOutputCoverage]] = {}
    for (metric, output), found in by_output.items():
        counted = count_states(observation.state for observation in found)
        coverage.setdefault(metric, {})[output] = AgentEvalMetricOutputCoverage(**counted.to_json())
    return coverage


def _values(observations: Sequence[Observation]) -> dict[str, dict[str, list[TrialMetricValue]]]:
    values: dict[str, dict[str, list[TrialMetricValue]]] = {}
    for found in observations:
        if found.kind != "model":
            name = output_row(found.metric, found.output)
            values.setdefault(found.task_id, {}).setdefault(name, []).append(_value(found))
    return values


def _value(found: Observation) -> TrialMetricValue:
    if found.value is None:
        return TrialMetricValue(trial_id=found.trial_id, value_type="missing")
    kind: Literal["number", "label"] = "label" if found.kind == "label" else "number"
    return TrialMetricValue(trial_id=found.trial_id, value_type=kind, value=found.value)


def _errors(trials: Sequence[AgentEvalTrial]) -> dict[str, list[str]]:
    errored = [trial for trial in trials if trial.failed or trial.error]
    groups = _grouped(errored, lambda trial: trial.error.type if trial.error else UNKNOWN_ERROR)
    return {name: [trial.id for trial in group] for name, group in groups.items()}


def _grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Group items by key, both in the order of first appearance."""
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups
