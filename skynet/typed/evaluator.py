"""AgentEvaluator: the caller's own agent and metrics, run in the caller's process and event loop."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from skynet.errors import SkynetError
from skynet.metric.show import show
from skynet.typed.bounded import run_bounded
from skynet.typed.protocol import Metric
from skynet.typed.runner import AgentTaskRunner
from skynet.typed.scores import AgentEvalTaskScore
from skynet.typed.scoring import score_trial
from skynet.typed.summary import AgentEvalSummary, summarize
from skynet.typed.tasks import AgentEvalRunConfig, AgentEvalTask
from skynet.typed.trials import AgentEvalTrial


class EvaluationError(SkynetError, ValueError):
    """The tasks and trials of an evaluation do not fit together."""


class AgentEvalResult(BaseModel):
    """Everything that one evaluation produced."""

    model_config = ConfigDict(extra="forbid")

    run_id: str
    tasks: list[AgentEvalTask]
    trials: list[AgentEvalTrial]
    scores: list[AgentEvalTaskScore]
    summary: AgentEvalSummary
    labels: dict[str, str] = Field(default_factory=dict)
    started_at: datetime
    finished_at: datetime

    def to_json(self) -> dict[str, Any]:
        """Return the result as strict JSON values; metrics stand there as what they declare."""
        loaded: dict[str, Any] = json.loads(self.model_dump_json())
        return loaded


class AgentEvaluator:
    """Runs tasks, or takes trials that were run before, and scores them.

    Nothing bounds an agent or a metric: no timeout, no memory limit, no journal. A metric that blocks stops the loop.
    """

    async def run(
        self,
        *,
        tasks: Sequence[AgentEvalTask],
        target: AgentTaskRunner | None = None,
        trials: Sequence[AgentEvalTrial] | None = None,
        config: AgentEvalRunConfig | None = None,
    ) -> AgentEvalResult:
        """Score the trials that `target` makes of the tasks, or the `trials` given. Raises EvaluationError.

        A metric that raises leaves a failed score and the run goes on, or ends with that error with `fail_fast`.
        """
        _check_tasks(tasks)
        chosen = config or AgentEvalRunConfig()
        chosen = chosen.model_copy(update={"run_id": chosen.run_id or uuid.uuid4().hex})
        started = datetime.now(UTC)
        found = await _trials(tasks, target, trials, chosen)
        _check_trials(tasks, found)
        scores = await _scores(tasks, found, chosen)
        return AgentEvalResult(
            run_id=str(chosen.run_id),
            tasks=list(tasks),
            trials=found,
            scores=scores,
            summary=summarize(tasks, found, scores),
            labels=chosen.labels,
            started_at=started,
            finished_at=datetime.now(UTC),
        )

    def run_sync(
        self,
        *,
        tasks: Sequence[AgentEvalTask],
        target: AgentTaskRunner | None = None,
        trials: Sequence[AgentEvalTrial] | None = None,
        config: AgentEvalRunConfig | None = None,
    ) -> AgentEvalResult:
        """Do the same where no event loop runs."""
        return asyncio.run(self.run(tasks=tasks, target=target, trials=trials, config=config))


async def _trials(
    tasks: Sequence[AgentEvalTask],
    target: AgentTaskRunner | None,
    trials: Sequence[AgentEvalTrial] | None,
    config: AgentEvalRunConfig,
) -> list[AgentEvalTrial]:
    if target is None and trials is not None:
        return list(trials)
    if target is None or trials is not None:
        raise EvaluationError("Give either target, which makes the trials, or trials that were made before.")
    if not hasattr(target, "run_tasks"):
        advice = "wrap an async function: CallableAgentTaskRunner(my_agent)"
        raise EvaluationError(f"The target is {show(target)}, which has no run_tasks; {advice}.")
    return list(await target.run_tasks([task.for_agent() for task in tasks], config))


async def _scores(
    tasks: Sequence[AgentEvalTask], trials: Sequence[AgentEvalTrial], config: AgentEvalRunConfig
) -> list[AgentEvalTaskScore]:
    place = {task.id: index for index, task in enumerate(tasks)}
    jobs = [
        (tasks[place[trial.task_id]], trial, metric, place[trial.task_id])
        for trial in sorted(trials, key=lambda trial: place[trial.task_id])
        for metric in tasks[place[trial.task_id]].metrics
    ]

    async def score(job: tuple[AgentEvalTask, AgentEvalTrial, Metric, int]) -> AgentEvalTaskScore:
        return await score_trial(str(config.run_id), *job, fail_fast=config.fail_fast)

    return await run_bounded(config.parallelism, jobs, score)


def _check_tasks(tasks: Sequence[AgentEvalTask]) -> None:
    if not tasks:
        raise EvaluationError("There are no tasks. Give at least one AgentEvalTask.")
    if doubled := _doubled(task.id for task in tasks):
        raise EvaluationError(f"Several tasks have the id {doubled[0]!r}. An id must be unique.")
    if bare := [task.id for task in tasks if not task.metrics]:
        raise EvaluationError(f"Task {bare[0]!r} has no metrics, so nothing would score its trials.")


def _check_trials(tasks: Sequence[AgentEvalTask], trials: Sequence[AgentEvalTrial]) -> None:
    known = {task.id for task in tasks}
    for trial in trials:
        if trial.task_id not in known:
            raise EvaluationError(f"Trial {trial.id!r} is of task {trial.task_id!r}, which is not among the tasks.")
    if doubled := _doubled((trial.task_id, trial.id) for trial in trials):
        raise EvaluationError(f"Several trials of task {doubled[0][0]!r} have the id {doubled[0][1]!r}.")
    tried = {trial.task_id for trial in trials}
    if missing := [task.id for task in tasks if task.id not in tried]:
        raise EvaluationError(f"There is no trial of task {missing[0]!r}. Every task needs at least one.")


def _doubled(items: Iterable[Any]) -> list[Any]:
    return [item for item, count in Counter(items).items() if count > 1]
