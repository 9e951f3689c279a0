from __future__ import annotations

import asyncio
from typing import Any

import pytest

from skynet.typed import (
    AgentEvalRunConfig,
    AgentEvalTask,
    AgentEvalTrialStatus,
    AgentOutput,
    CallableAgentTaskRunner,
    TrialDraft,
    TrialMeasurements,
)
from tests.typed.conftest import run

TASKS = [AgentEvalTask(id=f"t{number}") for number in range(4)]


@pytest.mark.parametrize(
    "returned", ["text", AgentOutput(output_text="text"), TrialDraft(output=AgentOutput(output_text="text"))]
)
def test_an_agent_may_return_a_text_an_output_or_a_draft(returned: Any) -> None:
    async def agent(task: AgentEvalTask) -> Any:
        return returned

    trials = run(CallableAgentTaskRunner(agent).run_tasks(TASKS))
    assert [(trial.task_id, trial.output and trial.output.output_text) for trial in trials] == [
        (task.id, "text") for task in TASKS
    ]
    assert [trial.id for trial in trials] == ["t0:trial", "t1:trial", "t2:trial", "t3:trial"]


def test_a_draft_keeps_its_metadata_and_measurements() -> None:
    async def agent(task: AgentEvalTask) -> TrialDraft:
        measured = TrialMeasurements(cost_usd=0.0)
        return TrialDraft(output=AgentOutput(), metadata={"a": 1}, measurements=measured)

    [trial] = run(CallableAgentTaskRunner(agent, trial_id_suffix="1").run_tasks(TASKS[:1]))
    assert (trial.id, trial.metadata, trial.measurements.cost_usd) == ("t0:1", {"a": 1}, 0.0)


def test_what_an_agent_raises_fails_its_own_trial_only() -> None:
    async def agent(task: AgentEvalTask) -> str:
        if task.id == "t1":
            raise LookupError("no such city")
        return "text"

    trials = run(CallableAgentTaskRunner(agent).run_tasks(TASKS[:3]))
    assert [trial.status.value for trial in trials] == ["completed", "failed", "completed"]
    assert trials[1].error is not None
    assert (trials[1].error.type, trials[1].error.message) == ("LookupError", "no such city")


def not_async(task: AgentEvalTask) -> Any:
    return "text"


async def returns_a_number(task: AgentEvalTask) -> Any:
    return 3


@pytest.mark.parametrize(("agent", "says"), [(not_async, "async def"), (returns_a_number, "returned 3")])
def test_an_agent_of_another_shape_fails_its_trials_and_says_why(agent: Any, says: str) -> None:
    [trial] = run(CallableAgentTaskRunner(agent).run_tasks(TASKS[:1]))
    assert trial.status is AgentEvalTrialStatus.FAILED
    assert trial.error is not None
    assert says in str(trial.error.message)


@pytest.mark.parametrize(("own", "config", "most"), [(None, 2, 2), (1, 3, 1)])
def test_at_most_parallelism_tasks_run_at_a_time(own: int | None, config: int, most: int) -> None:
    running, seen = 0, []

    async def agent(task: AgentEvalTask) -> str:
        nonlocal running
        running += 1
        seen.append(running)
        await asyncio.sleep(0)
        running -= 1
        return ""

    runner = CallableAgentTaskRunner(agent, parallelism=own)
    run(runner.run_tasks(TASKS, AgentEvalRunConfig(parallelism=config)))
    assert max(seen) == most


def test_a_runner_needs_room_for_one_task() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        CallableAgentTaskRunner(not_async, parallelism=0)
