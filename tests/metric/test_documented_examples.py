"""The metrics that the public documentation of the contract shows, run unchanged."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skynet.metric.context import Observation
from skynet.metric.contract import Scored, validate
from skynet.metric.load import load_metric
from tests.metric.calls import call

EXACT = '''
def score(input, output, expected=None):
    want = expected["label"]
    if output == want:
        return 1.0, {"feedback": "Correct."}
    return 0.0, {"feedback": f"Expected {want!r}, got {output!r}."}
'''
CHECKS = '''
import json


def score(input, output, expected=None):
    try:
        data = json.loads(output)
    except ValueError as exc:
        return 0.0, {"feedback": f"Output is not valid JSON: {exc}", "scores": {"format": 0.0, "fields": 0.0}}
    want = expected["fields"]
    found = [key for key in want if key in data]
    fields = len(found) / len(want) if want else 1.0
    missing = [key for key in want if key not in data]
    feedback = "All fields present." if not missing else f"Missing fields: {', '.join(missing)}."
    return 0.5 + 0.5 * fields, {"feedback": feedback, "scores": {"format": 1.0, "fields": fields}}
'''
JUDGE = '''
from skynet import llm


def score(input, output, expected=None):
    verdict = llm(
        "Answer PASS or FAIL, then give one sentence of reasons.",
        input=f"Question: {input['question']}\\nAnswer: {output}",
    )
    passed = str(verdict).strip().upper().startswith("PASS")
    return (1.0 if passed else 0.0), {"feedback": str(verdict)}
'''
REWARD = '''
from skynet import reward

REWARD_SPEC = {
    "weights": {"accuracy": 0.7, "speed": 0.2, "cost": 0.1},
    "accuracy": {},
    "speed": {"reference": 2000},
    "cost": {"reference": 0.01},
}


def score(input, output, expected=None):
    ok = output == expected["label"]
    return reward(REWARD_SPEC, 1.0 if ok else 0.0, "Correct." if ok else "Wrong label.")
'''

Score = Callable[..., Scored]


@pytest.fixture
def scored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Score:
    monkeypatch.setattr(sys, "path", list(sys.path))

    def run(source: str, input: Any, output: Any, expected: Any) -> Scored:
        path = tmp_path / "metric.py"
        path.write_text(source)
        loaded = load_metric(path)
        result = validate(loaded.style.call(loaded.score, input, output, expected))
        assert isinstance(result, Scored)
        return result

    return run


@pytest.mark.parametrize(("output", "score"), [("billing", 1.0), ("other", 0.0)])
def test_exact_match(scored: Score, output: str, score: float) -> None:
    assert scored(EXACT, {}, output, {"label": "billing"}).score == score


@pytest.mark.parametrize(
    ("output", "score", "scores"),
    [
        ('{"a": 1, "b": 2}', 1.0, {"format": 1.0, "fields": 1.0}),
        ('{"a": 1}', 0.75, {"format": 1.0, "fields": 0.5}),
        ("{", 0.0, {"format": 0.0, "fields": 0.0}),
    ],
)
def test_several_checks(scored: Score, output: str, score: float, scores: dict[str, float]) -> None:
    result = scored(CHECKS, {}, output, {"fields": ["a", "b"]})
    assert (result.score, result.scores) == (score, scores)


def test_model_as_judge(scored: Score) -> None:
    with call("PASS. It names the city.") as host:
        result = scored(JUDGE, {"question": "Capital?"}, "Paris", None)
    assert (result.score, result.feedback) == (1.0, "PASS. It names the city.")
    assert host.requests[0]["messages"][1] == {"role": "user", "content": "Question: Capital?\nAnswer: Paris"}


def test_accuracy_speed_and_cost(scored: Score) -> None:
    with call(observation=Observation(2000.0, 0.01)):
        result = scored(REWARD, {}, "billing", {"label": "billing"})
    assert result.score == pytest.approx(0.85)
    assert result.scores == pytest.approx({"accuracy": 1.0, "speed": 0.5, "cost": 0.5})
