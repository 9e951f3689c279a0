"""The metrics of an evaluation job, each in workers of its own."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skynet.data.case import Case
from skynet.errors import SkynetError
from skynet.evaluation.project import Project
from skynet.evaluation.scoring import Metric
from skynet.evaluation.stages import told
from skynet.evaluation.worker_setup import Source, metric_pool
from skynet.models.door import ModelDoor
from skynet.scorers.typed_check import JUDGE, typed_metric
from skynet.spec import EvalMetricSpec
from skynet.spec.jobs import METRIC


@dataclass(frozen=True, slots=True)
class JobMetric:
    """One opened metric. `only` holds the values that a row's columns must have for the metric to be for it."""

    name: str
    type: str
    only: dict[str, Any]
    metric: Metric

    def is_for(self, case: Case) -> bool:
        """Return whether the case is one of the metric's."""
        columns = {**case.input, **(case.expected or {})}
        return all(name in columns and columns[name] == value for name, value in self.only.items())


def open_metrics(
    project: Project, metrics: Mapping[str, EvalMetricSpec], models: ModelDoor, workers: int
) -> list[JobMetric]:
    """Open every metric and see that it loads. Raises SkynetError naming the metric; nothing then stays open."""
    spec, opened = project.spec, list[JobMetric]()
    try:
        for name, settings in metrics.items():
            source = metric_source(project, name, settings)
            pool = metric_pool(source, spec.root, spec.limits, os.environ, spec.metric.env, workers)
            opened.append(JobMetric(name, settings.type, settings.only, Metric(pool, models, spec.metric.timeout)))
        for one in opened:
            _require_loaded(one, models)
    except BaseException:
        for one in opened:
            one.metric.close()
        raise
    return opened


def metric_source(project: Project, name: str, settings: EvalMetricSpec) -> Source:
    """Return the file or the function that a metric's table stands for. Raises SkynetError naming the table."""
    own = project.metric_source if settings.type == METRIC and not settings.options else None
    options = {"path": str(own)} if isinstance(own, Path) else settings.options
    try:
        return own if callable(own) else typed_metric(settings.type, options, project.spec.root)
    except SkynetError as error:
        raise SkynetError(f"eval.metrics.{name}: {error}") from error


def _require_loaded(one: JobMetric, models: ModelDoor) -> None:
    outcome = one.metric.load()
    if outcome.fault is not None:
        raise SkynetError(f"eval.metrics.{one.name} does not load: {told(outcome.fault, outcome.stderr)}")
    if (one.type == JUDGE or outcome.value["calls_llm"]) and not models.has("metric"):
        raise SkynetError(f"eval.metrics.{one.name} asks a model; name one under [models] as metric or reflection")
