from __future__ import annotations

import pytest

from skynet import scorers
from skynet.metric.contract import Unmeasured


def score(result: scorers.Result) -> float:
    assert not isinstance(result, Unmeasured)
    return result[0]


def feedback(result: scorers.Result) -> str:
    assert not isinstance(result, Unmeasured)
    return str(result[1]["feedback"])


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("$1,000.00", "100000"),
        ("3.14", "314"),
        (".5", "5"),
        ("-5", "5"),
        ("−5", "5"),
        ("-$5", "$5"),
        ("+5", "5"),
        ("10²", "102"),
        ("C++", "C"),
        ("C#", "C"),
        ("5%", "5"),
        ("!!!", ""),
        ("a", "the"),
        ("vitamin A", "vitamin"),
        ("A, B", "B"),
        ("café", "cafe"),
    ],
)
def test_texts_that_mean_different_things_do_not_match(output: str, expected: str) -> None:
    assert score(scorers.exact_match(output, expected)) == 0
    assert score(scorers.exact_match(expected, output)) == 0


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("The Eiffel Tower", "eiffel tower"),
        ("Eiffel-Tower", "Eiffel Tower"),
        ("yes.", "Yes"),
        ("“Paris”", "Paris"),
        ("don’t", "don't"),
        ("café", "cafe\u0301"),
        ("STRASSE", "straße"),
        ("İstanbul", "istanbul"),
        ("１２", "12"),
        ("−5", "-5"),
        ("U.S.", "US"),
        ("你好。", "你好"),
        ("مرحبا،", "مرحبا"),
        ("  Paris\n", "paris"),
        (42, "42"),
        (True, "true"),
        ({"b": 1, "a": 2}, {"a": 2, "b": 1}),
    ],
)
def test_texts_that_differ_in_dress_only_match(output: object, expected: object) -> None:
    assert score(scorers.exact_match(output, expected)) == 1


def test_one_of_several_expected_texts_is_enough() -> None:
    assert score(scorers.exact_match("NYC", ["New York", "NYC"])) == 1
    assert score(scorers.f1("NYC", [None, "", "NYC"])) == 1


def test_a_list_as_output_is_compared_with_the_list() -> None:
    assert score(scorers.exact_match(["a", "b"], ["a", "b"])) == 1
    assert score(scorers.exact_match(["a"], ["a", "b"])) == 0


def test_feedback_says_expected_got_and_the_first_difference() -> None:
    said = feedback(scorers.exact_match("bilking", ["billing", "bill"]))
    assert "Expected 'billing' (or one of 1 more), got 'bilking'." in said
    assert "First difference at character 4: expected 'ling', got 'king'." in said


def test_feedback_names_the_end_of_a_text_that_is_too_short() -> None:
    said = feedback(scorers.exact_match("bill", "billing"))
    assert "First difference at character 5: expected 'ing', got the end of the text." in said


def test_f1_counts_shared_words_and_names_the_others() -> None:
    result = scorers.f1("the answer is 42", "42")
    assert not isinstance(result, Unmeasured)
    assert result[0] == 0.5
    assert result[1]["scores"] == {"precision": 1 / 3, "recall": 1.0}
    assert "Not expected: 'answer', 'is'" in result[1]["feedback"]


def test_f1_takes_scripts_without_spaces_by_character() -> None:
    assert score(scorers.f1("你好", "你好世界")) == pytest.approx(2 / 3)
    assert 0 < score(scorers.f1("ฉันกิน", "ฉันกินกระจกได้")) < 1


def test_an_unknown_profile_names_the_known_ones() -> None:
    with pytest.raises(scorers.ScorerError, match=r"profile is 'nemmo'.*Did you mean 'nemo'"):
        scorers.exact_match("a", "a", profile="nemmo")  # type: ignore[arg-type]
