from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from skynet.evaluation.child_score import as_function
from skynet.evaluation.worker_setup import METRIC_ENTRY, worker_setup
from skynet.metric.contract import Scored, validate
from skynet.metric.load import load_metric
from skynet.metric.problem import LoadProblem
from skynet.spec import LimitsSpec
from skynet.workers.pool import WorkerPool

TYPED = """
from skynet.typed import MetricOutput, MetricOutputSpec, MetricResult

class Same:
    type = "same"

    def output_spec(self):
        return [MetricOutputSpec.boolean("hit"){more}]

    async def compute_scores(self, input):
        hit = input.candidate.output_text == input.row.data["reference"]["label"]
        return MetricResult(outputs=[MetricOutput(name="hit", value=hit)])

score = Same{call}
"""
TOOLKIT = """
from types import SimpleNamespace

class Judge:
    async def evaluate_item(self, item):
        return SimpleNamespace(id=item.id, score=0.25, reasoning=f"not {item.expected_output_obj}", error=None)

score = Judge()
"""
OTHER = """
class Metric:
    def measure(self, test_case):
        self.score = 1.0

score = Metric{call}
"""


def file_of(tmp_path: Path, source: str) -> Path:
    path = tmp_path / "metric.py"
    path.write_text(source)
    return path


def scored(path: Path, output: Any = "billing") -> Scored:
    loaded = load_metric(path, as_function)
    found = validate(loaded.style.call(loaded.score, {"q": "?"}, output, {"label": "billing"}))
    assert isinstance(found, Scored)
    return found


@pytest.mark.parametrize(
    ("source", "score"),
    [
        (TYPED.format(more="", call="()"), 1.0),
        (TOOLKIT, 0.25),
        ("from skynet.scorers import exact_match as score", 1.0),
        ("from skynet import scorers\nscore = scorers.bleu", 100.0),
        (
            "from functools import partial\nfrom skynet import scorers\nscore = partial(scorers.one_of, values=['a'])",
            0.0,
        ),
    ],
    ids=["typed", "toolkit", "scorer", "ranged scorer", "scorer with options"],
)
def test_a_metric_file_may_hold_one_of_these_as_score(tmp_path: Path, source: str, score: float) -> None:
    assert scored(file_of(tmp_path, source)).score == score


def test_an_evaluators_reasoning_is_the_feedback_without_the_expected_value(tmp_path: Path) -> None:
    assert scored(file_of(tmp_path, TOOLKIT)).feedback == "not [expected value removed]"


def test_a_function_of_the_users_own_is_called_by_position_whatever_its_parameters_are_called(tmp_path: Path) -> None:
    source = "def score(output, gold, pred=None):\n    return 1.0, {'feedback': f'{output} {gold} {pred}'}"
    assert scored(file_of(tmp_path, source)).feedback == "{'q': '?'} billing {'label': 'billing'}"


@pytest.mark.parametrize(
    ("source", "right"),
    [
        (OTHER.format(call="()"), "score = skynet.adapt(Metric(...))"),
        (OTHER.format(call=""), "score = skynet.adapt(Metric)"),
        (TYPED.format(more="", call=""), "score = skynet.adapt(Same)"),
        (TYPED.format(more=', MetricOutputSpec.boolean("b", required=False)', call="()"), "primary="),
    ],
    ids=["another tool's object", "another tool's class", "a class", "two numeric outputs"],
)
def test_what_needs_adapt_is_told_at_metric_function_with_its_line(tmp_path: Path, source: str, right: str) -> None:
    path = file_of(tmp_path, source)
    with pytest.raises(LoadProblem, match=re.escape(right)) as raised:
        load_metric(path, as_function)
    assert raised.value.stage == "Metric function"
    assert raised.value.line == source.count("\n")


def test_a_metric_worker_runs_a_typed_metric(tmp_path: Path) -> None:
    path = file_of(tmp_path, TYPED.format(more="", call="()"))
    with WorkerPool(worker_setup(METRIC_ENTRY, path, tmp_path, LimitsSpec(), {}, ())) as pool:
        payload = {"input": {}, "output": "x", "expected": {"label": "billing"}, "trace": None, "observation": None}
        outcome = pool.call(payload, timeout=30)
    assert (outcome.kind, outcome.value["score"], outcome.value["scores"]) == ("ok", 0.0, {"hit": 0.0})
