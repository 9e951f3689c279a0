from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from skynet.typed import CandidateOutput, DatasetRow, MetricError, MetricInput, MetricOutputSpec, validate_metric_result
from skynet.typed.protocol import MetricOutput, MetricResult
from skynet.typed.validation import compute, describe
from tests.typed.conftest import Returns, run

INPUT = MetricInput(row=DatasetRow(data={}), candidate=CandidateOutput(output_text="x"))
CONTINUOUS, DISCRETE = MetricOutputSpec.continuous_score("x"), MetricOutputSpec.discrete_score("x")
BOOLEAN, LABEL = MetricOutputSpec.boolean("x"), MetricOutputSpec.label("x")


class Verdict(BaseModel):
    passed: bool


def result(*outputs: tuple[str, Any]) -> MetricResult:
    return MetricResult(outputs=[MetricOutput(name=name, value=value) for name, value in outputs])


def coerced(spec: MetricOutputSpec, value: Any) -> Any:
    return validate_metric_result(result(("x", value)), [spec]).outputs[0].value


@pytest.mark.parametrize(
    ("spec", "value", "expected"),
    [
        (CONTINUOUS, 1, 1.0), (CONTINUOUS, True, 1.0), (CONTINUOUS, "0.9", 0.9), (CONTINUOUS, math.inf, math.inf),
        (DISCRETE, True, 1), (DISCRETE, 1.0, 1), (DISCRETE, "1", 1),
        (BOOLEAN, 1, True), (BOOLEAN, 0, False), (BOOLEAN, 1.0, True), (BOOLEAN, "1", True), (BOOLEAN, "true", True),
        (BOOLEAN, "yes", True), (LABEL, "", ""), (LABEL, "good", "good"),
    ],
)  # fmt: skip
def test_a_value_is_returned_in_its_declared_type(spec: MetricOutputSpec, value: Any, expected: Any) -> None:
    got = coerced(spec, value)
    assert (got, type(got)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("spec", "value"),
    [
        (CONTINUOUS, ""), (CONTINUOUS, []), (CONTINUOUS, "high"),
        (DISCRETE, 0.5), (DISCRETE, math.nan), (DISCRETE, math.inf),
        (BOOLEAN, 0.5), (BOOLEAN, 1.5), (BOOLEAN, ""), (LABEL, 1), (LABEL, True),
    ],
)  # fmt: skip
def test_a_value_that_cannot_be_coerced_is_rejected_by_name(spec: MetricOutputSpec, value: Any) -> None:
    with pytest.raises(MetricError, match="Output 'x'"):
        coerced(spec, value)


def test_nan_is_accepted() -> None:
    assert math.isnan(coerced(CONTINUOUS, math.nan))


@pytest.mark.parametrize("required", [True, False])
@pytest.mark.parametrize("factory", ["continuous_score", "discrete_score", "boolean", "label"])
def test_none_is_rejected_whatever_was_declared(factory: str, required: bool) -> None:
    spec = getattr(MetricOutputSpec, factory)("x", required=required)
    with pytest.raises(MetricError, match="'x' is None"):
        coerced(spec, None)


def test_a_model_output_is_kept_as_its_model() -> None:
    assert coerced(MetricOutputSpec.model("x", Verdict), {"passed": "yes"}) == Verdict(passed=True)


@pytest.mark.parametrize(
    ("outputs", "says"),
    [
        ([("x", 1), ("y", 2)], "'y', which output_spec"),
        ([("x", 1), ("x", 1)], "'x' more than once"),
        ([], "lacks output 'x'"),
        ([("wrd", 1)], "Did you mean 'word'"),
    ],
)
def test_an_output_at_fault_is_named(outputs: list[tuple[str, Any]], says: str) -> None:
    with pytest.raises(MetricError, match=says):
        validate_metric_result(result(*outputs), [CONTINUOUS, MetricOutputSpec.label("word", required=False)])


def test_an_optional_output_may_be_left_out() -> None:
    specs = [CONTINUOUS, MetricOutputSpec.boolean("y", required=False)]
    assert [output.name for output in validate_metric_result(result(("x", 1)), specs).outputs] == ["x"]


class NotAsync(Returns):
    def compute_scores(self, input: MetricInput) -> Any:
        return result(("score", 1))


class ReturnsDict(Returns):
    async def compute_scores(self, input: MetricInput) -> Any:
        return {"score": 1}


@pytest.mark.parametrize(("metric", "says"), [(NotAsync({}), "async def"), (ReturnsDict({}), "a dict of 1 item")])
def test_what_compute_scores_returned_instead_is_told(metric: Returns, says: str) -> None:
    with pytest.raises(MetricError, match=says):
        run(compute(metric, INPUT))


@pytest.mark.parametrize(
    ("metric", "says"),
    [
        (object(), "no type and no output_spec and no compute_scores"),
        (Returns, "is a class"),
        (Returns({}, type=" "), "must be a name"),
        (Returns({}, specs=[]), "is empty"),
        (Returns({}, specs=[CONTINUOUS, LABEL]), "'x' more than once"),
    ],
)
def test_an_object_that_is_no_metric_is_told_what_it_lacks(metric: Any, says: str) -> None:
    with pytest.raises(MetricError, match=says):
        describe(metric)


values = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.integers())


@given(value=values, spec=st.sampled_from([CONTINUOUS, DISCRETE, BOOLEAN, LABEL]))
def test_any_value_is_coerced_or_rejected_by_name(value: Any, spec: MetricOutputSpec) -> None:
    kinds = {"continuous": float, "discrete": int, "boolean": bool, "label": str}
    said = ""
    try:
        got = coerced(spec, value)
    except MetricError as error:
        said = str(error)
    assert "'x'" in said or type(got) is kinds[spec.kind]
