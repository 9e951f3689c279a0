"""Against stand-ins of inspect's shape: `async score(state, target)`."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest

from skynet.metric.contract import Unmeasured, validate
from skynet.typed import MetricError, adapt


def said(value: Any, **more: Any) -> Any:
    async def score(state: Any, target: Any) -> Any:
        return SimpleNamespace(**{"value": value, "answer": None, "explanation": None, **more})

    return score


async def includes(state: Any, target: Any) -> Any:
    assert (state.input_text, state.metadata) == ("Capital?", {"q": "Capital?"})
    assert [message.role for message in state.messages] == ["user", "assistant"]
    hit = any(one in state.output.completion for one in target)
    return SimpleNamespace(value="C" if hit else "I", explanation=f"looked for {target.text}", answer="it")


def run(scorer: Any, output: Any = "It is Paris.", expected: Any = None, **options: Any) -> Any:
    return validate(adapt(scorer, **options)({"q": "Capital?"}, output, expected or {"city": "Paris"}))


def test_a_scorer_sees_the_state_and_the_target() -> None:
    found = run(includes)
    assert (found.score, found.feedback) == (1.0, "looked for [expected value removed]")
    assert found.side_info["answer_found"] == "it"
    assert run(includes, "Rome").score == 0.0
    assert run(includes, "Rome", {"city": ["Paris", "Rome"]}).score == 1.0


@pytest.mark.parametrize(("value", "score"), [("P", 0.5), ("N", 0.0), (True, 1.0), (0.3, 0.3), ({"a": "C"}, 1.0)])
def test_letters_numbers_and_a_dict_of_one_are_scores(value: Any, score: float) -> None:
    assert run(said(value)).score == score


def test_a_dict_of_several_needs_primary_and_keeps_all() -> None:
    found = run(said({"a": "C", "b": 0.5}), primary="b")
    assert (found.score, found.scores) == (0.5, {"a": 1.0, "b": 0.5})


def test_unscored_is_unmeasured_with_its_reason() -> None:
    found = run(said(math.nan, reason="grader_failed", explanation="no verdict on Paris"))
    assert isinstance(found, Unmeasured)
    assert "no verdict on [expected value removed]" in found.reason
    assert "grader_failed" in found.reason


def test_nothing_returned_is_unmeasured() -> None:
    async def score(state: Any, target: Any) -> None:
        return None

    assert isinstance(run(score), Unmeasured)


def test_a_list_is_told() -> None:
    with pytest.raises(MetricError, match="a list of 2 items"):
        run(said([1, 0]))
