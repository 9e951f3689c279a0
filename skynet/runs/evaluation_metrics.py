"""The metrics of an evaluation job, each in workers of its own."""

from __future__ import annotations

import inspect
import os
from dataclasses import dataclass
from typing import Any

from skynet.data.case import Case
from skynet.errors import SkynetError, nearest
from skynet.evaluation.scoring import Metric
from skynet.evaluation.stages import told
from skynet.evaluation.worker_setup import Source, metric_pool
from skynet.models.door import ModelDoor
from skynet.scorers import as_metric, judge, named
from skynet.scorers.on_cases import is_scorer
from skynet.spec import EvalMetricSpec, Spec
from skynet.spec.jobs import METRIC

JUDGE = "judge"


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


def open_metrics(spec: Spec, metrics: dict[str, EvalMetricSpec], models: ModelDoor, workers: int) -> list[JobMetric]:
    """Open every metric and see that it loads. Raises SkynetError naming the metric; nothing then stays open."""
    opened: list[JobMetric] = []
    try:
        for name, settings in metrics.items():
            source = metric_source(spec, name, settings)
            pool = metric_pool(source, spec.root, spec.limits, os.environ, spec.metric.env, workers)
            opened.append(JobMetric(name, settings.type, settings.only, Metric(pool, models, spec.metric.timeout)))
        for one in opened:
            _require_loaded(one, models)
    except BaseException:
        for one in opened:
            one.metric.close()
        raise
    return opened


def metric_source(spec: Spec, name: str, settings: EvalMetricSpec) -> Source:
    """Return the file or the function that a metric's table stands for. Raises SkynetError naming the table."""
    where = f"eval.metrics.{name}"
    if settings.type == METRIC:
        return _file(spec, where, settings.options)
    try:
        if settings.type == JUDGE:
            return judge(**_checked(where, settings.options))
        scorer = named(settings.type)
        if not is_scorer(scorer):
            raise SkynetError(f"{settings.type} is no function over an output; use type = 'metric' and a file with it")
        return as_metric(scorer, **settings.options)
    except SkynetError as error:
        raise SkynetError(f"{where}: {error}") from error


def _file(spec: Spec, where: str, options: dict[str, Any]) -> Source:
    for key in options:
        if key != "path":
            raise SkynetError(f"{where}.{key}: a metric of type metric takes only path.{nearest(key, ['path'])}")
    path = spec.resolve(str(options.get("path", spec.metric.path)))
    if not path.is_file():
        raise SkynetError(
            f"{where}.path: there is no file {str(path)!r}; name a file with score(input, output, expected)"
        )
    return path


def _checked(where: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return the judge's options where it can be called with them. Raises SkynetError."""
    known = list(inspect.signature(judge).parameters)
    for key in options:
        if key not in known:
            raise SkynetError(
                f"{where}: a judge has no option {key!r}; it has {', '.join(known)}.{nearest(key, known)}"
            )
    if "criteria" not in options:
        raise SkynetError('a judge needs criteria, such as criteria = "The reply is polite."')
    return options


def _require_loaded(one: JobMetric, models: ModelDoor) -> None:
    outcome = one.metric.load()
    if outcome.fault is not None:
        raise SkynetError(f"eval.metrics.{one.name} does not load: {told(outcome.fault, outcome.stderr)}")
    if (one.type == JUDGE or outcome.value["calls_llm"]) and not models.has("metric"):
        raise SkynetError(f"eval.metrics.{one.name} asks a model; name one under [models] as metric or reflection")
