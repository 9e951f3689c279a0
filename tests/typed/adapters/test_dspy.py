"""Against the real dspy, and in a process without it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import dspy
import pytest

from skynet.metric.contract import Scored, Unmeasured, validate
from skynet.typed import MetricError, adapt

Metric = Callable[..., Any]


def run(metric: Any, output: Any = "Paris", input: Any = None, expected: Any = None, **options: Any) -> Any:
    score = adapt(metric, **options)
    return validate(score(input or {"question": "Capital?"}, output, expected or {"answer": "Paris"}))


@pytest.mark.parametrize(("output", "score"), [("The Paris", 1.0), ("Rome", 0.0), ({"answer": "Paris"}, 1.0)])
def test_a_metric_of_dspys_own_sees_the_output_as_the_answer(output: Any, score: float) -> None:
    assert run(dspy.evaluate.answer_exact_match, output).score == score


def test_example_and_prediction_are_dspys() -> None:
    def metric(gold: Any, pred: Any, trace: Any, pred_name: Any, pred_trace: Any) -> Any:
        assert (trace, pred_name, pred_trace) == (None, None, None)
        assert isinstance(gold, dspy.Example)
        assert isinstance(pred, dspy.Prediction)
        assert gold.inputs().toDict() == {"question": "Capital?"}
        return dspy.Prediction(score=0.5, feedback=f"It is {gold.answer}.", recall=0.25)

    found = run(metric)
    assert isinstance(found, Scored)
    assert (found.score, found.feedback, found.scores) == (0.5, "It is [expected value removed].", {"recall": 0.25})


class Judge(dspy.Module):  # type: ignore[misc]
    def forward(self, example: Any, pred: Any, trace: Any = None) -> Any:
        return dspy.Prediction(score=float(example.response == pred.response))


def test_a_module_is_called_and_its_fields_may_be_filled_from_other_columns() -> None:
    assert run(Judge(), expected={"label": "Paris"}, fields={"response": "label"}).score == 1.0
    assert run(Judge(), "Rome", expected={"label": "Paris"}, fields={"response": "label"}).score == 0.0


@pytest.mark.parametrize(
    ("metric", "score"),
    [
        (lambda gold, pred, trace=None: True, 1.0),
        (lambda gold, pred, trace=None: {"score": 0.5, "feedback": "Half."}, 0.5),
        (lambda example, pred: 0.25, 0.25),
    ],
)
def test_a_bool_a_dict_and_a_number_are_scores(metric: Metric, score: float) -> None:
    assert run(metric).score == score


def test_nan_is_unmeasured_and_a_result_without_a_score_is_told() -> None:
    assert isinstance(run(lambda gold, pred: float("nan")), Unmeasured)
    with pytest.raises(MetricError, match="has no `score`"):
        run(lambda gold, pred: {"feedback": "Half."})


def test_without_dspy_the_fields_are_there_all_the_same() -> None:
    code = """
import sys, skynet

def metric(gold, pred, trace=None):
    try:
        pred.other
    except AttributeError as error:
        return {"score": gold["answer"] == pred.answer, "feedback": str(error)}

score, info = skynet.adapt(metric)({"q": "?"}, "Rome", {"answer": "Paris"})
assert (score, info["feedback"]) == (0.0, "there is no field 'other'; there are output, answer"), (score, info)
assert "dspy" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
