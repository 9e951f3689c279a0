from __future__ import annotations

import asyncio
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from skynet.typed import (
    AgentEvalRunConfig,
    AgentEvalTask,
    AgentEvaluator,
    AgentOutput,
    CallableAgentTaskRunner,
    EvaluationError,
    MetricInput,
    TrialMeasurements,
)
from tests.typed.conftest import Returns, by_text, run, score, trial

ROOT = Path(__file__).parent.parent.parent


def test_the_components_example_prints_each_component_and_the_view() -> None:
    command = [sys.executable, str(ROOT / "examples" / "components" / "components.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "keyword_match.score: 1.0",
        "used_expected_tool.tool_use: 0.5",
        "view.quality: 0.75",
    ]


def test_a_metric_receives_the_task_the_trial_and_its_complete_measurements() -> None:
    seen: list[MetricInput] = []

    def keep(input: MetricInput) -> dict[str, Any]:
        seen.append(input)
        return {"score": 1}

    task = AgentEvalTask(
        id="t", intent="do it", inputs={"q": 1}, reference={"a": 2}, metadata={"m": 3}, metrics=[Returns(keep)]
    )
    measured = TrialMeasurements(total_tokens=0)
    made = trial("t", 1, "text", metadata={"x": 1, "total_tokens": 7}, measurements=measured)
    score([task], [made])
    row = seen[0].row.data
    assert row["task"] == {"id": "t", "intent": "do it", "metadata": {"m": 3}}
    assert (row["inputs"], row["reference"]) == ({"q": 1}, {"a": 2})
    assert (row["trial"]["id"], row["trial"]["task_id"], row["trial"]["status"]) == ("t-1", "t", "completed")
    assert row["trial"]["measurements"] == measured.model_dump()
    assert row["trial"]["measurements"]["total_tokens"] == 0
    assert row["trial"]["measurements"]["cost_usd"] is None
    assert seen[0].candidate.output_text == "text"


def test_the_metadata_of_the_output_lies_over_the_trials() -> None:
    seen: list[dict[str, Any]] = []

    def keep(input: MetricInput) -> dict[str, Any]:
        seen.append(input.candidate.metadata)
        return {"score": 1}

    made = trial("t", 1, metadata={"a": "trial", "b": "trial"})
    made = made.model_copy(update={"output": AgentOutput(metadata={"b": "output"})})
    score([AgentEvalTask(id="t", metrics=[Returns(keep)])], [made])
    assert seen == [{"a": "trial", "b": "output"}]


def test_the_agent_never_sees_intent_or_reference() -> None:
    seen: list[AgentEvalTask] = []

    async def agent(task: AgentEvalTask) -> str:
        seen.append(task)
        return "1"

    task = AgentEvalTask(id="t", intent="secret", reference={"a": 1}, metrics=[Returns(by_text)])
    result = run(AgentEvaluator().run(tasks=[task], target=CallableAgentTaskRunner(agent)))
    assert (seen[0].intent, seen[0].reference, seen[0].metrics) == ("", {}, [])
    assert result.tasks[0].reference == {"a": 1}
    assert result.summary.score("metric.score").mean == 1.0


def test_tasks_may_carry_different_metrics() -> None:
    tasks = [
        AgentEvalTask(id="a", metrics=[Returns({"score": 1}, type="first")]),
        AgentEvalTask(id="b", metrics=[Returns({"score": 0}, type="second")]),
    ]
    result = score(tasks, [trial("b", 1), trial("a", 1)])
    assert [(row.name, row.count, row.mean) for row in result.summary.scores.scores] == [
        ("first.score", 1, 1.0), ("second.score", 1, 0.0)
    ]  # fmt: skip
    assert [found.task_id for found in result.scores] == ["a", "b"]


def raises(input: MetricInput) -> dict[str, Any]:
    raise ZeroDivisionError("no cases")


def test_a_metric_that_raises_leaves_a_failed_score_with_the_error() -> None:
    task = AgentEvalTask(id="t", metrics=[Returns(raises), Returns({"score": 1}, type="other")])
    result = score([task], [trial("t", 1)])
    failed, good = result.scores
    assert (failed.status.value, failed.outputs) == ("failed", [])
    assert failed.diagnostics[0].message == "no cases"
    assert failed.diagnostics[0].details == {"exception_type": "ZeroDivisionError"}
    assert good.status.value == "completed"


def test_with_fail_fast_the_metrics_error_ends_the_run() -> None:
    with pytest.raises(ZeroDivisionError):
        score([AgentEvalTask(id="t", metrics=[Returns(raises)])], [trial("t", 1)], fail_fast=True)


def test_a_failed_trial_is_not_shown_to_the_metric() -> None:
    result = score([AgentEvalTask(id="t", metrics=[Returns(raises)])], [trial("t", 1, None)], fail_fast=True)
    assert result.scores[0].diagnostics[0].details == {"trial_status": "failed"}


TASK = AgentEvalTask(id="t", metrics=[Returns({"score": 1})])


@pytest.mark.parametrize(
    ("tasks", "trials", "says"),
    [
        ([], [], "no tasks"),
        ([TASK, TASK], [trial("t", 1)], "Several tasks"),
        ([TASK], [], "no trial of task 't'"),
        ([TASK], [trial("t", 1), trial("other", 1)], "'other', which is not among the tasks"),
        ([TASK], [trial("t", 1), trial("t", 1)], "Several trials"),
        ([AgentEvalTask(id="bare")], [trial("bare", 1)], "'bare' has no metrics"),
    ],
)
def test_tasks_and_trials_that_do_not_fit_are_refused(tasks: Any, trials: Any, says: str) -> None:
    with pytest.raises(EvaluationError, match=says):
        score(tasks, trials)


async def agent(task: AgentEvalTask) -> str:
    return ""


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "either target"),
        ({"target": CallableAgentTaskRunner(agent), "trials": []}, "either target"),
        ({"target": agent}, "CallableAgentTaskRunner"),
    ],
)
def test_exactly_one_source_of_trials_is_needed(given: dict[str, Any], says: str) -> None:
    with pytest.raises(EvaluationError, match=says):
        run(AgentEvaluator().run(tasks=[TASK], **given))


def test_run_sync_does_the_same_without_a_loop() -> None:
    config = AgentEvalRunConfig(run_id="r")
    result = AgentEvaluator().run_sync(tasks=[TASK], target=CallableAgentTaskRunner(agent), config=config)
    assert (result.run_id, result.scores[0].id) == ("r", "r:t:t:trial:metric")


def test_a_cancelled_run_leaves_nothing_running() -> None:
    async def slow(task: AgentEvalTask) -> str:
        await asyncio.sleep(60)
        return ""

    async def cancel() -> int:
        running = asyncio.ensure_future(AgentEvaluator().run(tasks=[TASK], target=CallableAgentTaskRunner(slow)))
        await asyncio.sleep(0.01)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return len(asyncio.all_tasks())

    assert run(cancel()) == 1


def test_a_result_is_strict_json_with_nan_and_infinity_as_texts() -> None:
    task = AgentEvalTask(id="t", metrics=[Returns(by_text)])
    texts = ["nan", "inf", "-inf", "1"]
    result = score([task], [trial("t", number, text) for number, text in enumerate(texts)])
    loaded = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert [found["outputs"][0]["value"] for found in loaded["scores"]] == ["NaN", "Infinity", "-Infinity", 1.0]
    assert math.isnan(result.scores[0].outputs[0].value)
