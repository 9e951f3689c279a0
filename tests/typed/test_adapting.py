from __future__ import annotations

import math
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

import skynet
from skynet.metric.contract import Scored, Unmeasured, validate
from skynet.metric.signature import call_style
from skynet.typed import MetricDiagnostic, MetricError, MetricOutputSpec, adapt
from tests.typed.conftest import Returns

TWO = [MetricOutputSpec.continuous_score("errors"), MetricOutputSpec.continuous_score("style")]


class Judge:
    """In the toolkit's shape; it counts the cases that it saw."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    async def evaluate_item(self, item: Any) -> Any:
        self.seen.append(item)
        return SimpleNamespace(id=item.id, score=len(self.seen), reasoning="Expected Paris.", error=None)


class Needy:
    def __init__(self, model: str) -> None:
        self.model = model

    def measure(self, test_case: Any) -> float:
        return 1.0


def scored(score: Any, output: Any = "out", expected: Any = None) -> Any:
    style = call_style(score)
    assert (style.trace, style.is_async) == (True, False)
    return validate(style.call(score, {"q": "question"}, output, expected or {"city": "Paris"}))


def test_a_typed_metric_and_an_evaluator_become_a_score_function() -> None:
    assert scored(adapt(Returns({"score": 0.5}))).score == 0.5
    found = scored(adapt(Judge()))
    assert (found.score, found.feedback) == (1.0, "Expected [expected value removed].")


def test_the_messages_of_a_typed_metric_hold_no_expected_value() -> None:
    metric = Returns({"score": 0}, diagnostics=[MetricDiagnostic(message="It is not Paris.")])
    assert scored(adapt(metric)).feedback == "It is not [expected value removed]."
    unknown = Returns({"score": math.nan}, diagnostics=[MetricDiagnostic(message="Is it Paris?")])
    assert "Paris" not in scored(adapt(unknown)).reason


def test_a_score_that_equals_the_expected_value_stays() -> None:
    found = scored(adapt(Returns({"score": 1})), expected={"n": 1})
    assert (found.score, found.scores) == (1.0, {"score": 1.0})


def test_each_case_gets_a_copy_of_the_object_unless_it_is_shared_on_request() -> None:
    judge = Judge()
    score, shared = adapt(judge), adapt(judge, copy=False)
    assert [scored(score).score for _ in range(3)] == [1.0, 1.0, 1.0]
    assert judge.seen == []
    assert [scored(shared).score for _ in range(3)] == [1.0, 2.0, 3.0]


def test_a_class_is_made_into_an_instance() -> None:
    assert scored(adapt(Judge)).score == 1.0


def test_a_class_that_needs_arguments_is_told() -> None:
    with pytest.raises(MetricError, match=r"Give an instance: adapt\(Needy\(\.\.\.\)\)"):
        adapt(Needy)


@pytest.mark.parametrize(
    ("options", "score", "declared"),
    [
        ({}, 4.0, None),
        ({"range": (0, 5)}, 4.0, [0.0, 5.0]),
        ({"lower_is_better": True}, -4.0, None),
        ({"lower_is_better": True, "range": (0, 5)}, 1.0, [0.0, 5.0]),
        ({"lower_is_better": True, "range": [1, 5]}, 2.0, [1.0, 5.0]),
    ],
)
def test_direction_and_range_are_arguments(options: dict[str, Any], score: float, declared: object) -> None:
    found = scored(adapt(Returns({"score": 4}), **options))
    assert (found.score, found.scores, found.side_info.get("range")) == (score, {"score": score}, declared)
    assert found.side_info.get("raw_score") == (4.0 if options.get("lower_is_better") else None)


def test_only_the_score_is_turned_round_and_other_numbers_stay() -> None:
    metric = Returns({"errors": 3, "style": 0.5}, TWO)
    found = scored(adapt(metric, primary="errors", lower_is_better=True))
    assert (found.score, found.scores) == (-3.0, {"errors": -3.0, "style": 0.5})


def test_a_score_outside_the_range_warns() -> None:
    [warning] = scored(adapt(Returns({"score": 7}), range=(0, 5))).warnings
    assert "0 to 5" in warning


@pytest.mark.parametrize(
    ("metric", "options", "says"),
    [
        (object(), {}, "knows no metric of this shape"),
        (len, {}, "knows no metric of this shape"),
        (Returns({}, TWO), {}, "primary="),
        (Returns({}, TWO), {"primary": "erors"}, "Did you mean 'errors'"),
        (Judge(), {"range": (5, 0)}, r"must be \(lowest, highest\)"),
        (Judge(), {"range": 5}, r"must be \(lowest, highest\)"),
        (Judge(), {"labels": {"a": 1}}, "labels= does not apply"),
        (Needy("m"), {"full_dataset_entry": True}, "fields="),
    ],
)
def test_what_cannot_be_adapted_is_told_at_once(metric: Any, options: dict[str, Any], says: str) -> None:
    with pytest.raises(MetricError, match=says):
        adapt(metric, **options)


def test_the_score_bears_the_metrics_name_so_that_it_composes() -> None:
    assert adapt(Returns({"score": 1}, type="length")).__name__ == "length"
    composed = skynet.compose([adapt(Returns({"score": 1}, type="length")), adapt(Judge())])
    found = scored(composed)
    assert (found.score, found.scores["length"], found.scores["Judge"]) == (1.0, 1.0, 1.0)


def test_an_unmeasured_case_stays_unmeasured() -> None:
    assert isinstance(scored(adapt(Returns({"score": math.inf}))), Unmeasured)


def test_an_adapted_metric_can_be_called_from_a_coroutine() -> None:
    score = adapt(Returns({"score": 0.5}))

    async def own(input: Any, output: Any, expected: Any = None) -> Any:
        return score(input, output, expected)

    found = validate(call_style(own).call(own, {}, "out", None))
    assert isinstance(found, Scored)
    assert found.score == 0.5


@pytest.mark.parametrize(
    "code",
    [
        "import skynet; skynet.adapt; from skynet.typed import adapt; assert callable(adapt)",
        "import skynet, sys; assert 'skynet.typed' not in sys.modules",
        "import skynet, sys; skynet.adapt\nassert not {'dspy', 'deepeval', 'ragas', 'inspect_ai'} & set(sys.modules)",
    ],
)
def test_adapt_is_a_name_of_skynet_loaded_on_use_and_loads_no_tool(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)
