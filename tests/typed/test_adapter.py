from __future__ import annotations

import math
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from skynet.metric.context import Call, Observation, enter, leave
from skynet.metric.contract import Scored, Unmeasured, validate
from skynet.metric.signature import call_style
from skynet.scorers.redaction import REMOVED
from skynet.typed import EvalInputItem, MetricDiagnostic, MetricError, MetricInput, MetricOutputSpec, as_score
from tests.typed.conftest import Returns

NUMBER, OTHER = MetricOutputSpec.continuous_score("score"), MetricOutputSpec.boolean("format_ok", required=False)
TONE = MetricOutputSpec.label("tone", required=False)
ATIF = {"schema_version": "ATIF-v1.7", "steps": [{"source": "agent", "tool_calls": [{"function_name": "search"}]}]}


def scored(score: Any, output: Any = "out", expected: Any = None, trace: Any = None, input: Any = None) -> Any:
    """Call it as a metric worker does, and check what it returned by the contract."""
    style = call_style(score)
    assert (style.trace, style.is_async) == (True, True)
    return validate(style.call(score, input or {"q": "question"}, output, expected, trace))


@pytest.fixture
def observed() -> Iterator[None]:
    enter(Call("metric", lambda request: {}, Observation(1500.0, 0.0, 1, 3, 0)))
    yield
    leave()


def test_the_only_numeric_output_is_the_score_and_labels_go_beside_it() -> None:
    metric = Returns({"score": 0.5, "tone": "polite"}, [NUMBER, TONE])
    found = scored(as_score(metric))
    assert isinstance(found, Scored)
    assert (found.score, found.scores, found.side_info) == (0.5, {"score": 0.5}, {"outputs": {"tone": "polite"}})


def test_with_several_numeric_outputs_primary_names_the_score() -> None:
    metric = Returns({"score": 0.5, "format_ok": True}, [NUMBER, OTHER])
    with pytest.raises(MetricError, match=r"2 numeric outputs \('score', 'format_ok'\): name .* with primary="):
        as_score(metric)
    found = scored(as_score(metric, primary="format_ok"))
    assert (found.score, found.scores) == (1.0, {"score": 0.5, "format_ok": 1.0})


@pytest.mark.parametrize(
    ("specs", "primary", "says"),
    [
        ([NUMBER], "scor", "Did you mean 'score'"),
        ([NUMBER, TONE], "tone", "no numeric output"),
        ([TONE], None, "0 numeric outputs"),
    ],
)
def test_a_score_that_cannot_be_found_lists_the_numeric_outputs(
    specs: list[MetricOutputSpec], primary: str | None, says: str
) -> None:
    with pytest.raises(MetricError, match=says):
        as_score(Returns({}, specs), primary=primary)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_score_that_is_not_finite_is_unmeasured(value: float) -> None:
    found = scored(as_score(Returns({"score": value})))
    assert isinstance(found, Unmeasured)
    assert "'score'" in found.reason


def test_an_optional_score_that_was_left_out_is_unmeasured() -> None:
    metric = Returns({}, [OTHER], diagnostics=[MetricDiagnostic(message="no JSON")])
    assert scored(as_score(metric)) == Unmeasured("metric did not measure 'format_ok' here. no JSON")


def test_another_output_that_was_not_measured_is_left_out_of_the_scores() -> None:
    second = MetricOutputSpec.continuous_score("second")
    found = scored(as_score(Returns({"score": 1, "second": math.nan}, [NUMBER, second]), primary="score"))
    assert found.scores == {"score": 1.0}


def test_the_messages_of_the_diagnostics_are_the_feedback_and_their_details_hold_no_expected_value() -> None:
    diagnostics = [
        MetricDiagnostic(message="The city is wrong."),
        MetricDiagnostic(message="Look it up.", details={"want": "Paris", "n": math.nan}),
    ]
    found = scored(as_score(Returns({"score": 0}, diagnostics=diagnostics)), expected={"city": "Paris"})
    assert found.feedback == "The city is wrong.\nLook it up."
    assert found.side_info["diagnostics"] == [{"message": "Look it up.", "details": {"want": REMOVED, "n": "NaN"}}]


def test_without_diagnostics_the_feedback_says_what_was_measured() -> None:
    found = scored(as_score(Returns({"score": 0.25}, [NUMBER, OTHER], type="city"), primary="score"))
    assert found.feedback == "city: score is 0.25, format_ok was not measured."


@pytest.mark.usefixtures("observed")
def test_a_typed_metric_reads_the_case_and_what_was_measured() -> None:
    seen: list[MetricInput] = []

    def keep(input: MetricInput) -> dict[str, Any]:
        seen.append(input)
        return {"score": 1}

    scored(as_score(Returns(keep)), output={"a": 1}, expected={"city": "Paris"})
    row = seen[0].row.data
    assert (row["inputs"], row["reference"]) == ({"q": "question"}, {"city": "Paris"})
    measured = row["trial"]["measurements"]
    assert (measured["total_tokens"], measured["runtime_sec"], measured["cost_usd"]) == (3, 1.5, 0.0)
    assert (measured["reward"], len(measured)) == (None, 9)
    assert (seen[0].candidate.output_text, seen[0].candidate.response) == ('{"a": 1}', {"a": 1})
    assert seen[0].candidate.evidence is None


def test_outside_a_call_nothing_was_measured() -> None:
    def measured(input: MetricInput) -> dict[str, Any]:
        assert set(input.row.data["trial"]["measurements"].values()) == {None}
        return {"score": 1}

    assert scored(as_score(Returns(measured))).score == 1.0


class UsedTool(Returns):
    """1 when the trace holds a call of search."""

    async def compute_scores(self, input: MetricInput) -> Any:
        evidence = input.candidate.evidence
        assert evidence is not None
        calls = await (await evidence.trace(format="atif")).tool_calls()
        self._values = {"score": any(call.function_name == "search" for call in calls)}
        return await super().compute_scores(input)


def test_a_recorded_trace_is_the_evidence() -> None:
    assert scored(as_score(UsedTool({})), trace=ATIF).score == 1.0


class Judge:
    """In the toolkit's shape, without any base class; it returns what it was given."""

    def __init__(self, **returned: Any) -> None:
        self.returned = {"id": 1, "score": 0.5, "reasoning": None, **returned}
        self.seen: list[EvalInputItem] = []

    async def evaluate_item(self, item: EvalInputItem) -> Any:
        self.seen.append(item)
        return SimpleNamespace(**self.returned)


def test_an_evaluator_sees_the_seven_fields_and_the_whole_row_only_on_request() -> None:
    judge = Judge()
    scored(as_score(judge), output="out", expected={"city": "Paris"}, trace=ATIF)
    scored(as_score(judge, full_dataset_entry=True), expected={"city": "Paris"}, input={"q": "x", "r": 2})
    first, second = judge.seen
    assert (first.input_obj, first.expected_output_obj, first.output_obj) == ("question", "Paris", "out")
    assert (first.trajectory, first.expected_trajectory, first.full_dataset_entry) == (ATIF["steps"], [], None)
    assert second.input_obj == {"q": "x", "r": 2}
    assert second.full_dataset_entry == {"q": "x", "r": 2, "city": "Paris"}
    assert second.trajectory == []


def test_the_reasoning_is_kept_and_becomes_the_feedback_without_the_expected_value() -> None:
    reasoning = {"question": "Capital?", "answer": "Paris", "generated_answer": "It is Paris.", "cosine": 0.5}
    found = scored(as_score(Judge(reasoning=reasoning)), expected={"city": "Paris"})
    assert found.side_info["reasoning"] == {
        "question": "Capital?", "answer": REMOVED, "generated_answer": f"It is {REMOVED}.", "cosine": 0.5
    }  # fmt: skip
    assert found.feedback == f"question: Capital?\nanswer: {REMOVED}\ngenerated_answer: It is {REMOVED}.\ncosine: 0.5"


@pytest.mark.parametrize(("reasoning", "feedback"), [("Too long.", "Too long."), (["a", 1], '["a", 1]')])
def test_reasoning_of_any_shape_becomes_text(reasoning: Any, feedback: str) -> None:
    assert scored(as_score(Judge(reasoning=reasoning))).feedback == feedback


def test_an_evaluator_without_reasoning_still_gives_feedback() -> None:
    assert "0.5" in scored(as_score(Judge())).feedback


@pytest.mark.parametrize(
    "returned", [{"error": "judge down: Paris", "score": 0.0}, {"score": math.nan, "reasoning": "Paris?"}]
)
def test_an_error_and_nan_are_unmeasured_and_not_zero(returned: dict[str, Any]) -> None:
    found = scored(as_score(Judge(**returned)), expected={"city": "Paris"})
    assert isinstance(found, Unmeasured)
    assert "Paris" not in found.reason


@pytest.mark.parametrize("score", ["good", None, {"a": 1}])
def test_a_score_that_is_no_number_cannot_be_the_metric_of_a_run(score: Any) -> None:
    with pytest.raises(MetricError, match="Judge"):
        scored(as_score(Judge(score=score)))


def test_an_option_of_the_other_shape_is_refused() -> None:
    with pytest.raises(MetricError, match="primary"):
        as_score(Judge(), primary="score")
    with pytest.raises(MetricError, match="full_dataset_entry"):
        as_score(Returns({"score": 1}), full_dataset_entry=True)


@pytest.mark.parametrize("value", [Judge, Returns, object(), len])
def test_what_is_no_instance_of_either_shape_is_told(value: Any) -> None:
    with pytest.raises(MetricError):
        as_score(value)
