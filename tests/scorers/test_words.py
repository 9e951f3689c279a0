from __future__ import annotations

import pytest

from skynet import scorers
from skynet.metric.contract import Unmeasured


def parts(result: scorers.Result) -> tuple[float, str]:
    assert not isinstance(result, Unmeasured)
    return result[0], result[1]["feedback"]


def test_a_failed_string_check_says_the_relation_and_the_first_difference() -> None:
    number, said = parts(scorers.string_check("Answer 5", "Answer: 5", operation="startswith"))
    assert number == 0
    assert "Expected a text that starts with 'Answer: 5'" in said
    assert "First difference at character 7" in said


def test_an_unknown_string_operation_names_the_known_ones() -> None:
    with pytest.raises(scorers.ScorerError, match=r"operation is 'start with'.*Did you mean 'startswith'"):
        scorers.string_check("a", "a", operation="start with")


@pytest.mark.parametrize(
    ("full", "ignore_case", "wanted"), [(False, False, 0), (False, True, 1), (True, True, 0)]
)
def test_a_pattern_is_searched_or_matched_whole(full: bool, ignore_case: bool, wanted: int) -> None:
    assert parts(scorers.regex("Order A-12", r"order [a-z]", full=full, ignore_case=ignore_case))[0] == wanted


def test_a_broken_pattern_is_an_error_of_the_metric() -> None:
    with pytest.raises(scorers.ScorerError, match="is not a pattern"):
        scorers.regex("a", "(")


def test_contains_any_needs_one_value() -> None:
    assert parts(scorers.contains_any("a refund", ["return", "refund"]))[0] == 1
    assert parts(scorers.contains_any("Refund", ["refund"]))[0] == 0
    assert parts(scorers.contains_any("Refund", ["refund"], ignore_case=True))[0] == 1


def test_contains_all_needs_every_value_and_counts_those_found() -> None:
    result = scorers.contains_all("red and blue", ["red", "green"])
    assert not isinstance(result, Unmeasured)
    assert result[0] == 0
    assert result[1]["scores"] == {"found": 0.5}
    assert result[1]["feedback"].startswith("Missing: 'green'.")


def test_one_of_takes_the_whole_output_and_names_the_nearest_value() -> None:
    assert parts(scorers.one_of(" billing\n", ["billing", "other"]))[0] == 1
    number, said = parts(scorers.one_of("biling", ["billing", "other"]))
    assert number == 0
    assert "Nearest is 'billing': First difference at character 4" in said


@pytest.mark.parametrize("scorer", [scorers.contains_any, scorers.contains_all, scorers.one_of])
@pytest.mark.parametrize("values", [[], [None], None])
def test_without_values_there_is_nothing_to_measure(scorer: object, values: object) -> None:
    assert isinstance(scorer("a", values), Unmeasured)  # type: ignore[operator]


def test_one_text_is_one_value() -> None:
    assert parts(scorers.contains_all("abc", "abc"))[0] == 1
    assert parts(scorers.one_of("a", "abc"))[0] == 0
