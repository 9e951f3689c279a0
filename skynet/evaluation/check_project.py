"""The contract check of a whole project, and of a metric alone."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from skynet.artifact import Artifact
from skynet.data.case import Case
from skynet.data.dataset import sample_cases
from skynet.evaluation.case_run import ticket_for
from skynet.evaluation.check import ContractCheck
from skynet.evaluation.cost_notice import cost_notice
from skynet.evaluation.project import Project
from skynet.evaluation.record import Record
from skynet.evaluation.scoring import Metric, MetricResult
from skynet.evaluation.stages import METRIC_CALL, CheckResult, OnStage, Stage
from skynet.evaluation.worker_setup import metric_pool
from skynet.models.gateway import Gateway
from skynet.models.ledger import Ledger
from skynet.spec import SPEC_NAME, DataSpec, LimitsSpec, MetricSpec, ModelsSpec, load_spec
from skynet.spec.jobs import NOT_NEEDED
from skynet.target.base import TargetResult
from skynet.workers.fault import Fault
from skynet.workers.worker import Outcome

SAMPLES = 3


class PlainBench:
    """Runs and scores without books. `project` is None when a metric is checked alone."""

    def __init__(self, metric: Metric, project: Project | None = None) -> None:
        self._metric = metric
        self._project = project

    def load_metric(self) -> Outcome:
        """Load the metric into a worker."""
        return self._metric.load()

    def load_target(self) -> Fault | None:
        """Make the target ready; return why it cannot be."""
        result = None if self._project is None else self._project.target.load()
        return None if result is None else result.fault

    def evaluate(self, artifact: Artifact, case: Case) -> Record:
        """Run and score the artifact on the case."""
        if self._project is None:
            raise RuntimeError("a metric checked alone has no target to run")
        return self._project.runner.run(artifact, case)

    def score_output(self, case: Case, output: Any, like: Record | None, repetition: int) -> MetricResult:
        """Score an output; what the target call of `like` measured is shown to the metric."""
        seed = 0 if self._project is None else self._project.seed
        measured = None if like is None else measured_of(like)
        return self._metric.score(case, output, ticket_for(seed, "", case, repetition), measured)


def measured_of(record: Record) -> TargetResult:
    """Return what a record's target call measured."""
    return TargetResult(
        elapsed_ms=record.elapsed_ms,
        cost_usd=record.cost_usd,
        model_calls=record.model_calls,
        prompt_tokens=record.prompt_tokens,
        completion_tokens=record.completion_tokens,
        trace=record.trace,
    )


def check_project(
    project: Project, *, on_stage: OnStage = lambda stage: None, on_notice: Callable[[str], None] = lambda text: None
) -> CheckResult:
    """Run the contract check of an opened project. `on_notice` is told beforehand what the target calls may cost."""
    metric = project.metric  # its template starts while the data is read
    cases = sample_cases(project.dataset, SAMPLES, project.seed)
    notice = cost_notice(project, cases)
    if notice:
        on_notice(notice)
    warnings = [sentence_of(text) for text in project.dataset.warnings]
    check = ContractCheck(PlainBench(metric, project), cases, project.start, on_stage=on_stage, warnings=warnings)
    return replace(check.run(), notices=(notice,) if notice else ())


def sentence_of(text: str) -> str:
    """Return a warning as a sentence of its own."""
    return text[:1].upper() + text[1:].rstrip(".") + "."


def check_metric(
    path: Path,
    output: Any,
    *,
    input: dict[str, Any] | None = None,
    expected: dict[str, Any] | None = None,
    folder: Path = Path(),
    on_stage: OnStage = lambda stage: None,
) -> CheckResult:
    """Check a metric alone on one output. The models, the limits and the metric's timeout and env are those of the
    `skynet.toml` in `folder`, if there is one. A metric that fails is told what it was not given."""
    there = folder.is_file() or (folder / SPEC_NAME).is_file()
    spec = load_spec(folder, code=NOT_NEEDED) if there else None
    models, root = (spec.models, spec.root) if spec else (ModelsSpec(), folder.absolute())
    limits, settings = (spec.limits, spec.metric) if spec else (LimitsSpec(), MetricSpec())
    path = path.absolute()
    gateway = Gateway(models, root, ledger=Ledger(), environ=os.environ)
    explained = partial(_explained, left_out=_left_out(input, expected, spec.data if spec else None))
    try:
        with metric_pool(path, path.parent, limits, os.environ, settings.env, 1) as pool:
            case = Case("given", input or {}, expected, "", 0)
            bench = PlainBench(Metric(pool, gateway, settings.timeout))
            tell: OnStage = lambda stage: on_stage(explained(stage))  # noqa: E731 - too short for a def
            result = ContractCheck(bench, [case], None, on_stage=tell, given={case.id: output}).run()
            return replace(result, stages=tuple(map(explained, result.stages)))
    finally:
        gateway.close()


def _explained(stage: Stage, left_out: str) -> Stage:
    """Return the stage; where the metric itself failed, with what it was not given."""
    failed = stage.name == METRIC_CALL and stage.status == "failed"
    return replace(stage, message=f"{stage.message}{left_out}") if failed else stage


def _left_out(input: dict[str, Any] | None, expected: dict[str, Any] | None, data: DataSpec | None) -> str:
    """Say what a metric that was checked alone was not given, each on a line; empty when it was given all."""
    told = ""
    if expected is None:
        told += "\nNote: no expected value was given, so the metric got expected=None; give one with --expected "
        told += _example(data.outputs if data else ())
    if not input:
        told += "\nNote: no input was given, so the metric got input={}; give one with --input "
        told += _example(data.inputs if data else ())
    return told


def _example(columns: Sequence[str]) -> str:
    """Return how a value keyed by column is written on a command line."""
    return f"'{json.dumps(dict.fromkeys(columns or ('column',), '...'), ensure_ascii=False)}'"
