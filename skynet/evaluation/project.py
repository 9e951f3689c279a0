"""The opened parts of one project: data, models, target and metric, made from a spec and closed together."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from skynet.artifact import Artifact
from skynet.data.dataset import Dataset, load_dataset
from skynet.evaluation.artifact_files import read_parts, read_text
from skynet.evaluation.books import CaseNames
from skynet.evaluation.case_run import CaseRunner
from skynet.evaluation.scoring import Metric
from skynet.evaluation.targets import build_target, program_path, program_pool
from skynet.evaluation.worker_setup import Source, metric_pool
from skynet.models.door import ModelDoor
from skynet.models.gateway import Gateway
from skynet.models.ledger import Ledger
from skynet.spec import Spec
from skynet.target.base import Target
from skynet.target.dspy_program import DspyTarget, HostPrograms, start_state
from skynet.target.worker_calls import WorkerCalls, holds_keys
from skynet.workers.pool import WorkerPool
from skynet.workers.private import closed_process

if TYPE_CHECKING:
    from skynet.models.endpoint import Endpoint


@dataclass(frozen=True, slots=True)
class Functions:
    """Functions given from Python instead of files; None leaves the spec's file in force."""

    metric: Callable[..., Any] | None = None
    target: Callable[..., Any] | None = None


class Project:
    """One project, opened. Parts are made when first asked for; `close` ends what was started."""

    def __init__(
        self,
        spec: Spec,
        *,
        functions: Functions | None = None,
        dataset: Dataset | None = None,
        start: Artifact | None = None,
        models: ModelDoor | None = None,
        environ: Mapping[str, str] | None = None,
        workers: int = 1,
    ) -> None:
        self.spec = spec
        self._functions = functions or Functions()
        self._given_dataset = dataset
        self._given_start = start
        self._environ = os.environ if environ is None else environ
        self._workers = workers
        self.gateway: ModelDoor = models or Gateway(spec.models, spec.root, ledger=Ledger(), environ=self._environ)
        self._closed_process = closed_process()  # it holds the keys
        self._opened: list[Target | Metric | WorkerPool | Endpoint] = []

    @cached_property
    def dataset(self) -> Dataset:
        """The cases in their splits."""
        return self._given_dataset or load_dataset(self.spec.data, self.spec.root)

    @cached_property
    def start(self) -> Artifact | None:
        """The start version's artifact, or None when the first version is still to be written."""
        path = self.spec.artifact.path
        if path is None:
            return self._given_start
        kind, file = self.spec.artifact.kind, self.spec.resolve(path)
        if kind == "parts":
            return Artifact(kind, read_parts(file, chat=self.spec.target.kind == "chat"))
        if kind == "dspy":
            return Artifact(kind, start_state(self._program_pool))
        return Artifact(kind, read_text(file))

    @property
    def metric_source(self) -> Source:
        """The metric's file, or the function given instead."""
        return self._functions.metric or self.spec.resolve(self.spec.metric.path)

    @property
    def target_source(self) -> Source | None:
        """The target's file, or the function given instead; None for a target without code."""
        if self.spec.artifact.kind == "dspy":
            return program_path(self.spec)
        if self.spec.target.kind != "python":
            return None
        return self._functions.target or self.spec.resolve(self.spec.target.path or "run.py")

    @cached_property
    def metric(self) -> Metric:
        """The metric in its workers."""
        spec = self.spec
        pool = metric_pool(self.metric_source, spec.root, spec.limits, self._environ, spec.metric.env, self._workers)
        metric = Metric(pool, self.gateway, self.spec.metric.timeout)
        self._opened.append(metric)
        return metric

    @cached_property
    def target(self) -> Target:
        """The target."""
        spec = self.spec.target
        target: Target
        if spec.kind == "dspy":
            target = DspyTarget(WorkerCalls(self._program_pool, self.gateway, spec.timeout, spec.env))
        else:
            target = build_target(
                self.spec, self.target_source, self.gateway, self._environ, self._workers, self._endpoint
            )
        self._opened.append(target)
        return target

    @cached_property
    def _endpoint(self) -> Endpoint | None:
        """Where SDKs in the target's code find the task model; None without one, or where the code has its own key."""
        runs_code = self.spec.target.kind in ("python", "code", "command")
        if not runs_code or not self.gateway.has("task") or "OPENAI_API_KEY" in self.spec.target.env:
            return None
        from skynet.models.endpoint import Endpoint

        endpoint = Endpoint([str(self.gateway.describe("task")["name"])])
        self._opened.append(endpoint)
        return endpoint

    @cached_property
    def _program_pool(self) -> WorkerPool:
        """The workers of a DSPy program: its start state is asked of them before its target exists."""
        pool = program_pool(self.spec, self._environ, self._workers)
        self._opened.append(pool)
        return pool

    @cached_property
    def programs(self) -> HostPrograms | None:
        """The DSPy program as an engine runs it in this process, None for any other artifact."""
        if self.spec.artifact.kind != "dspy":
            return None
        return HostPrograms(program_path(self.spec), self.spec.data.outputs if self.spec.data else ())

    def use_models(self, models: ModelDoor) -> None:
        """Have target and metric ask through `models`; before either was asked for."""
        self.gateway = models

    @property
    def unmetered(self) -> bool:
        """Whether the target is given keys of its own, whose bills nobody shows us."""
        return self.spec.target.kind in ("python", "code", "dspy") and holds_keys(self.spec.target.env)

    @cached_property
    def case_names(self) -> CaseNames:
        """The names of all cases in evaluation keys."""
        data = self.dataset
        return CaseNames([*data.train, *data.val, *data.test])

    @property
    def seed(self) -> int:
        """The seed of the spec's data, 0 without any."""
        return self.spec.data.seed if self.spec.data else 0

    @cached_property
    def runner(self) -> CaseRunner:
        """The target and the metric together."""
        return CaseRunner(self.target, self.metric, self.seed)

    def close(self) -> None:
        """End workers and model connections."""
        for opened in self._opened:
            opened.close()
        self.gateway.close()

    def __enter__(self) -> Project:
        self._closed_process.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.close()
        finally:
            self._closed_process.__exit__(None, None, None)
