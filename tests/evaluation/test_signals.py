from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from skynet.data.case import Case
from skynet.evaluation.signals import (
    feedback_finding,
    leak_finding,
    perfect_finding,
    perfect_output,
    reward_finding,
    score_finding,
)


def case(expected: dict[str, Any] | None, name: str = "1") -> Case:
    return Case(name, {}, expected, "", 1)


@pytest.mark.parametrize(
    ("expected", "output"),
    [(None, None), ({"label": "x"}, "x"), ({"label": ["x"]}, ["x"]), ({"a": 1, "b": 2}, {"a": 1, "b": 2})],
)
def test_the_perfect_output_is_the_value_of_the_one_column_or_the_dict(expected: Any, output: Any) -> None:
    assert perfect_output(case(expected)) == output


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        ([("1", 0.0, 1.0), ("2", 1.0, 1.0)], ""),
        ([("1", None, 1.0)], ""),
        ([], ""),
        ([("1", 0.5, None)], ""),
        ([("1", 0.0, 1.0), ("2", 1.0, 0.5)], "case 2: the expected value taken as the output scores 0.5, less than"),
        ([("1", 1.0, 0.9999999)], "scores 0.9999999, less than the sample's 1."),
        ([("1", 0.0, 0.0), ("2", -1.0, 0.0)], "no expected value scores above 0"),
        ([("1", None, -1.0)], "no expected value scores above 0"),
    ],
)
def test_perfect_answers_warn_below_the_samples_or_never_above_zero(pairs: list[Any], words: str) -> None:
    finding = perfect_finding(pairs)
    assert (words in finding) if words else not finding


@pytest.mark.parametrize(
    ("sampled", "perfect", "warns"),
    [([0.5, 0.5], [], True), ([0.5, 0.5], [0.5], True), ([0.5, 0.5], [1.0], False), ([0.5, 0.6], [], False),
     ([0.5], [], False), ([], [], False)],
)  # fmt: skip
def test_constant_scores_warn_when_perfect_answers_are_no_better(
    sampled: list[float], perfect: list[float], warns: bool
) -> None:
    assert bool(score_finding(sampled, perfect)) is warns


@pytest.mark.parametrize(
    ("feedback", "words"),
    [
        (["Say the date.", " \n"], "some feedback is blank"),
        (["Wrong.", "Wrong."], "every feedback is 'Wrong.'"),
        (["Wrong."], ""),
        (["Wrong.", "Right."], ""),
        (["The same long and useful text.", "The same long and useful text."], ""),
        ([], ""),
    ],
)
def test_blank_or_constant_feedback_warns(feedback: list[str], words: str) -> None:
    finding = feedback_finding(feedback)
    assert (words in finding) if words else not finding


@pytest.mark.parametrize(
    ("feedback", "expected", "leaks"),
    [
        ("Expected billing.", {"label": "billing"}, True),
        ("Expected 1234.", {"n": 1234}, True),
        ("It is no.", {"label": "no"}, False),  # too short to tell
        ("Wrong team.", {"label": "billing"}, False),
        ("Expected billing.", None, False),
    ],
)
def test_feedback_that_carries_the_expected_value_is_noted(feedback: str, expected: Any, leaks: bool) -> None:
    finding = leak_finding({"1": feedback}, [case(expected)])
    assert finding.startswith("the feedback carries expected values (case 1)") is leaks


@pytest.mark.parametrize(
    ("weights", "scores", "warns"),
    [
        ({"accuracy": 1.0, "speed": 1.0, "cost": 0.0}, [{"accuracy": 1.0, "speed": 0.5}], False),
        ({"accuracy": 1.0, "speed": 1.0, "cost": 0.0}, [{"accuracy": 1.0}], True),
        ({"accuracy": 1.0, "speed": 1.0, "cost": 0.0}, [{"accuracy": 1.0, "speed": 1.0}, {}], True),
        ({"accuracy": 1.0, "speed": 1.0, "cost": 0.0}, [], False),
    ],
)
def test_a_reward_spec_that_the_scores_do_not_show_warns(
    weights: Mapping[str, float], scores: list[dict[str, float]], warns: bool
) -> None:
    assert bool(reward_finding({"weights": weights}, scores)) is warns
    assert reward_finding(None, scores) == ""
