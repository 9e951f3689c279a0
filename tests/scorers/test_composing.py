from __future__ import annotations

import functools
from typing import Any

import pytest

import skynet
from skynet import scorers
from skynet.metric.contract import Unmeasured, validate
from skynet.metric.signature import call_style
from skynet.scorers import ScorerError, as_metric


def fixed(number: float) -> Any:
    return lambda input, output, expected=None: (number, {"feedback": f"It is {number}."})


def nothing(input: Any, output: Any) -> Any:
    return skynet.unmeasured("no answer")


def run(metric: Any, output: Any = "", expected: Any = None, trace: Any = None) -> Any:
    returned = call_style(metric).call(metric, {}, output, expected, trace)
    validate(returned)
    return returned


@pytest.mark.parametrize(
    ("view", "score"), [("single", 0.2), ("all", 0.2), ("any", 1.0), ("mean", 0.6), ("weighted_mean", 0.8)]
)
def test_a_view_reduces_the_scores(view: str, score: float) -> None:
    weights = (1, 3) if view == "weighted_mean" else ()
    entries = [("low", fixed(0.2), *weights[:1]), ("high", fixed(1.0), *weights[1:])]
    assert run(skynet.compose(entries, view=view))[0] == pytest.approx(score)


def test_every_component_stands_in_scores_and_feedback() -> None:
    metric = skynet.compose([scorers.exact_match, scorers.f1], view="all")
    number, side_info = run(metric, "a Paris", {"city": "Paris France"})
    assert number == 0
    assert side_info["scores"] == {
        "exact_match": 0.0,
        "f1": pytest.approx(2 / 3),
        "f1.precision": 1.0,
        "f1.recall": 0.5,
    }
    assert side_info["feedback"].splitlines()[0].startswith("exact_match (0): Expected 'Paris France'")
    assert side_info["feedback"].splitlines()[1].startswith("f1 (0.667): Missing: 'france'.")


def test_a_component_with_a_range_is_scaled_and_its_own_numbers_are_kept() -> None:
    number, side_info = run(skynet.compose([scorers.bleu]), "the cat", {"text": "the cat"})
    assert number == 1
    assert side_info["scores"] == {"bleu": 1.0, "bleu.sentence": 100.0}


@pytest.mark.parametrize(("missing", "score"), [("unmeasured", None), ("drop", 0.5), ("zero", 0.25)])
def test_an_unmeasured_component_is_handled_as_asked(missing: Any, score: float | None) -> None:
    returned = run(skynet.compose([("half", fixed(0.5)), nothing], missing=missing))
    if score is None:
        assert isinstance(returned, Unmeasured)
        assert "nothing (unmeasured): no answer" in returned.reason
    else:
        assert returned[0] == score
        assert returned[1]["scores"] == {"half": 0.5}


def test_a_dropped_component_takes_its_weight_along() -> None:
    metric = skynet.compose([("one", fixed(1.0), 1), ("none", nothing, 3)], view="weighted_mean", missing="drop")
    assert run(metric)[0] == 1
    assert isinstance(run(skynet.compose([nothing], missing="drop")), Unmeasured)


def test_one_component_can_be_the_objective_and_the_others_are_reported() -> None:
    metric = skynet.compose([("a", fixed(0.1)), ("b", fixed(0.9))], view="single", signals=["b"])
    number, side_info = run(metric)
    assert (number, side_info["scores"]) == (0.9, {"a": 0.1, "b": 0.9})


def test_a_component_outside_the_signals_may_be_unmeasured() -> None:
    assert run(skynet.compose([("a", fixed(0.1)), nothing], signals=["a"]))[0] == 0.1


def test_the_trace_reaches_scorers_and_metrics() -> None:
    def steps(input: Any, output: Any, expected: Any = None, trace: Any = None) -> Any:
        return float(len(trace)), {"feedback": "Steps."}

    trace = [{"name": "search", "arguments": {}}]
    metric = skynet.compose([as_metric(scorers.tool_called, tools="search"), steps])
    assert run(metric, trace=trace)[1]["scores"] == {"tool_called": 1.0, "tool_called.called": 1.0, "steps": 1.0}


def test_a_composed_metric_and_an_async_one_are_components() -> None:
    async def later(input: Any, output: Any) -> Any:
        return 1.0, {"feedback": "Later."}

    inner = skynet.compose([("zero", fixed(0.0))])
    assert run(skynet.compose([("inner", inner), later]))[0] == 0.5


def test_a_component_that_returns_no_score_is_named() -> None:
    with pytest.raises(ScorerError, match=r"component 'bare' returned no score\. There is no side info"):
        run(skynet.compose([("bare", lambda input, output: 0.5)]))


@pytest.mark.parametrize("declared", [None, 5, [0], [1, 1], ["a", "b"], [0, float("inf")]])
def test_a_declared_range_must_be_two_numbers(declared: Any) -> None:
    def ranged(input: Any, output: Any) -> Any:
        return 1.0, {"feedback": "x", "range": declared}

    with pytest.raises(ScorerError, match="'ranged' declares the range"):
        run(skynet.compose([ranged]))


@pytest.mark.parametrize(
    ("entries", "options", "message"),
    [
        ([], {}, "there are no components"),
        ([3], {}, "3 is no scorer and no metric"),
        ([fixed(1.0)], {}, "a component has no name"),
        ([functools.partial(nothing)], {}, "a component has no name"),
        ([("a", nothing, 1, 2)], {}, 'Give a scorer, a metric, or \\("name", metric\\)'),
        ([("a", lambda output_only: None)], {}, "'a' cannot be called as a metric"),
        ([nothing, nothing], {}, "two components are named 'nothing'"),
        ([nothing], {"view": "average"}, "view is 'average'"),
        ([nothing], {"missing": "skip"}, "missing is 'skip'"),
        ([nothing], {"signals": ["nothin"]}, "a signal is 'nothin'.*Did you mean 'nothing'"),
        ([nothing], {"signals": []}, "no signal has a weight above 0"),
        ([("a", nothing, 2)], {}, "'a' has a weight, but the view is 'mean'"),
        ([("a", nothing, -1)], {"view": "weighted_mean"}, "weight of 'a' is -1"),
        ([("a", nothing, float("nan"))], {"view": "weighted_mean"}, "weight of 'a' is NaN"),
        ([("a", nothing, 0)], {"view": "weighted_mean"}, "no signal has a weight above 0"),
    ],
)
def test_what_cannot_be_composed_is_refused(entries: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ScorerError, match=message):
        skynet.compose(entries, **options)
