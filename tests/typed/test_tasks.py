from __future__ import annotations

import json
import math

import pytest
from pydantic import ValidationError

from skynet.typed import AgentEvalRunConfig, AgentEvalTask, MetricOutputSpec, SemanticReducer, SemanticView, ViewSignal
from tests.typed.conftest import Returns


def view(metric: str = "metric", output: str = "score") -> SemanticView:
    return SemanticView(reducer=SemanticReducer.MEAN, signals=[ViewSignal(metric=metric, output=output)])


def test_metric_types_are_unique_within_a_task() -> None:
    with pytest.raises(ValidationError, match="two metrics of task 't' have the type 'metric'"):
        AgentEvalTask(id="t", metrics=[Returns({}), Returns({})])


@pytest.mark.parametrize(
    ("found", "says"),
    [(view(metric="metrik"), "Did you mean 'metric'"), (view(output="scor"), "Did you mean 'score'")],
)
def test_a_view_of_an_unknown_signal_is_refused_when_the_task_is_made(found: SemanticView, says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        AgentEvalTask(id="t", metrics=[Returns({})], views={"quality": found})


def test_a_metric_may_not_take_the_name_of_views() -> None:
    with pytest.raises(ValidationError, match="'view'"):
        AgentEvalTask(id="t", metrics=[Returns({}, type="view")])


def test_an_object_that_is_no_metric_is_refused() -> None:
    with pytest.raises(ValidationError, match="no output_spec"):
        AgentEvalTask.model_validate({"id": "t", "metrics": [object()]})


@pytest.mark.parametrize("weight", [-1, math.inf, math.nan])
def test_a_weight_is_a_finite_number_of_at_least_zero(weight: float) -> None:
    with pytest.raises(ValidationError):
        ViewSignal(metric="m", output="o", weight=weight)


def test_a_view_needs_a_signal() -> None:
    with pytest.raises(ValidationError):
        SemanticView(reducer=SemanticReducer.ALL, signals=[])


@pytest.mark.parametrize("fields", [{"id": " "}, {"id": "t", "input": {}}])
def test_a_task_without_an_id_or_with_a_misspelt_field_is_refused(fields: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        AgentEvalTask.model_validate(fields)


def test_a_task_as_json_names_its_metrics_and_holds_no_bare_nan() -> None:
    metric = Returns({}, [MetricOutputSpec.label("tone", required=False)])
    task = AgentEvalTask(id="t", inputs={"x": math.nan, "y": [-math.inf], "z": {1: object}}, metrics=[metric])
    for text in (task.model_dump_json(), json.dumps(task.model_dump(mode="json"), allow_nan=False)):
        found = json.loads(text)
        assert (found["inputs"]["x"], found["inputs"]["y"]) == ("NaN", ["-Infinity"])
        assert found["metrics"][0]["type"] == "metric"
        assert found["metrics"][0]["outputs"][0] == {
            "name": "tone", "kind": "label", "required": False, "description": None
        }  # fmt: skip


def test_what_the_agent_sees_of_a_task_holds_no_intent_reference_metric_or_view() -> None:
    task = AgentEvalTask(
        id="t", intent="secret", inputs={"a": 1}, reference={"b": 2}, metrics=[Returns({})], views={"q": view()}
    )
    seen = task.for_agent()
    assert (seen.id, seen.inputs) == ("t", {"a": 1})
    assert (seen.intent, seen.reference, seen.metrics, seen.views) == ("", {}, [], {})
    assert task.reference == {"b": 2}


def test_parallelism_is_at_least_one() -> None:
    with pytest.raises(ValidationError):
        AgentEvalRunConfig(parallelism=0)
