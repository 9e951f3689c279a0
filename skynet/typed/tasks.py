"""Tasks: what the agent is asked, what only the metrics see, and the metrics and views that score it."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, SkipValidation, field_serializer, field_validator, model_validator

from skynet.errors import nearest
from skynet.summary.views import Missing
from skynet.typed.protocol import Metric
from skynet.typed.strict_json import LooseDict
from skynet.typed.validation import Declared, describe

VIEW_PREFIX = "view"


class SemanticReducer(StrEnum):
    """How a view makes one number of its signals: the first, the smallest, the largest, or a mean."""

    SINGLE = "single"
    ALL = "all"
    ANY = "any"
    MEAN = "mean"
    WEIGHTED_MEAN = "weighted_mean"


class ViewSignal(BaseModel):
    """One output of one of the task's metrics. `weight` is read by weighted_mean only; None is 1."""

    model_config = ConfigDict(extra="forbid")

    metric: str = Field(min_length=1)
    output: str = Field(min_length=1)
    weight: float | None = Field(default=None, ge=0, allow_inf_nan=False)


class SemanticView(BaseModel):
    """A named roll-up of signals.

    `missing` says what a signal without a measurement does: it makes the view unmeasured for that trial, is left out
    ("drop"), or counts as 0 ("zero").
    """

    model_config = ConfigDict(extra="forbid")

    reducer: SemanticReducer
    signals: list[ViewSignal] = Field(min_length=1)
    missing: Missing = "unmeasured"


class AgentEvalTask(BaseModel):
    """One task. The agent is given `id`, `inputs` and `metadata`; `intent` and `reference` are for the metrics only."""

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    id: str
    intent: str = ""
    inputs: LooseDict = Field(default_factory=dict)
    reference: LooseDict = Field(default_factory=dict)
    metrics: list[SkipValidation[Metric]] = Field(default_factory=list)
    views: dict[str, SemanticView] = Field(default_factory=dict)
    metadata: LooseDict = Field(default_factory=dict)

    @field_validator("id")
    @classmethod
    def _is_not_blank(cls, id: str) -> str:
        if not id.strip():
            raise ValueError("the id of a task must not be blank")
        return id

    @model_validator(mode="after")
    def _metrics_and_views_agree(self) -> AgentEvalTask:
        declared: dict[str, Declared] = {}
        for metric in self.metrics:
            found = describe(metric)
            if found.type == VIEW_PREFIX:
                raise ValueError(f"no metric may be of type {VIEW_PREFIX!r}: its outputs would be named as views are")
            if found.type in declared:
                raise ValueError(f"two metrics of task {self.id!r} have the type {found.type!r}; it must be unique")
            declared[found.type] = found
        for name, view in self.views.items():
            for signal in view.signals:
                _check_signal(name, signal, declared)
        return self

    @field_serializer("metrics", when_used="json")
    def _as_declared(self, metrics: list[Metric]) -> list[dict[str, Any]]:
        return [
            {
                "type": declared.type,
                "outputs": [
                    {"name": spec.name, "kind": spec.kind, "required": spec.required, "description": spec.description}
                    for spec in declared.outputs
                ],
            }
            for declared in map(describe, metrics)
        ]

    def for_agent(self) -> AgentEvalTask:
        """Return the task as the agent may see it: without intent, reference, metrics and views."""
        return self.model_copy(update={"intent": "", "reference": {}, "metrics": [], "views": {}})


class AgentEvalRunConfig(BaseModel):
    """How tasks are run. `parallelism` bounds the agent's tasks, then the trials being scored, at a time."""

    model_config = ConfigDict(extra="forbid")

    parallelism: int = Field(default=4, ge=1)
    run_id: str | None = None
    labels: dict[str, str] = Field(default_factory=dict)
    fail_fast: bool = False


def _check_signal(view: str, signal: ViewSignal, declared: dict[str, Declared]) -> None:
    where = f"view {view!r} reads {signal.metric}.{signal.output}"
    metric = declared.get(signal.metric)
    if metric is None:
        known = ", ".join(declared) or "none"
        hint = nearest(signal.metric, declared)
        raise ValueError(f"{where}, but the task has no such metric; it has: {known}.{hint}")
    if metric.output(signal.output) is None:
        names = [spec.name for spec in metric.outputs]
        hint = nearest(signal.output, names)
        raise ValueError(f"{where}, but the metric declares no such output; it declares: {', '.join(names)}.{hint}")
