"""Runners: how tasks become trials. The callable runner is the smallest: one async function, one trial per task."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from skynet.errors import SkynetError
from skynet.metric.show import show
from skynet.typed.bounded import run_bounded
from skynet.typed.evidence import CandidateEvidence
from skynet.typed.tasks import AgentEvalRunConfig, AgentEvalTask
from skynet.typed.trials import AgentEvalTrial, AgentEvalTrialStatus, AgentOutput, TrialError, TrialMeasurements


@dataclass
class TrialDraft:
    """What an agent returns for a task: its output, and what else is known of the trial."""

    output: AgentOutput
    evidence: CandidateEvidence | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    measurements: TrialMeasurements = field(default_factory=TrialMeasurements)


AgentTaskFn = Callable[[AgentEvalTask], Awaitable[TrialDraft | AgentOutput | str]]


@runtime_checkable
class AgentTaskRunner(Protocol):
    """Anything that runs tasks and returns their trials, one or more for each."""

    async def run_tasks(
        self, tasks: Sequence[AgentEvalTask], config: AgentEvalRunConfig | None = None
    ) -> list[AgentEvalTrial]:
        """Run the tasks."""


class BadAgentReturn(SkynetError, TypeError):
    """The agent returned something that is no trial."""


class CallableAgentTaskRunner:
    """Runs an async function on each task. What it raises makes that trial a failed one; the others go on."""

    def __init__(
        self, agent_fn: AgentTaskFn, *, parallelism: int | None = None, trial_id_suffix: str = "trial"
    ) -> None:
        if parallelism is not None and parallelism < 1:
            raise ValueError(f"parallelism is {parallelism}; it must be at least 1")
        self._agent = agent_fn
        self._parallelism = parallelism
        self._suffix = trial_id_suffix

    async def run_tasks(
        self, tasks: Sequence[AgentEvalTask], config: AgentEvalRunConfig | None = None
    ) -> list[AgentEvalTrial]:
        """Return one trial per task, in the order of the tasks."""
        width = self._parallelism or (config or AgentEvalRunConfig()).parallelism
        return await run_bounded(width, tasks, self._run)

    async def _run(self, task: AgentEvalTask) -> AgentEvalTrial:
        trial_id = f"{task.id}:{self._suffix}"
        try:
            draft = _as_draft(await self._called(task))
        except Exception as error:  # noqa: BLE001 - whatever the agent raises is that trial's outcome
            failure = TrialError(type=type(error).__name__, message=str(error))
            return AgentEvalTrial(id=trial_id, task_id=task.id, status=AgentEvalTrialStatus.FAILED, error=failure)
        return AgentEvalTrial(
            id=trial_id,
            task_id=task.id,
            status=AgentEvalTrialStatus.COMPLETED,
            output=draft.output,
            evidence=draft.evidence,
            measurements=draft.measurements,
            metadata=draft.metadata,
        )

    async def _called(self, task: AgentEvalTask) -> object:
        pending: object = self._agent(task)
        if not inspect.isawaitable(pending):
            raise BadAgentReturn(f"The agent is not `async def`: it returned {show(pending)}.")
        returned: object = await pending
        return returned


def _as_draft(returned: object) -> TrialDraft:
    if isinstance(returned, TrialDraft):
        return returned
    if isinstance(returned, AgentOutput):
        return TrialDraft(output=returned)
    if isinstance(returned, str):
        return TrialDraft(output=AgentOutput(output_text=returned))
    raise BadAgentReturn(f"The agent returned {show(returned)}. Return a TrialDraft, an AgentOutput or a text.")
