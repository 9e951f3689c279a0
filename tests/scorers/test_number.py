from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest

from skynet import scorers
from skynet.metric.contract import Unmeasured
from skynet.scorers.number_text import DecimalSign, read_number


def score(result: scorers.Result) -> float:
    assert not isinstance(result, Unmeasured)
    return result[0]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("100", "100"),
        ("42.5", "42.5"),
        ("-3", "-3"),
        ("+7", "7"),
        ("1,000", "1000"),
        ("1,234,567.89", "1234567.89"),
        ("12,34,567", "1234567"),
        ("1 000", "1000"),
        ("1\u202f000,5"[:5], "1000"),
        ("1'000'000", "1000000"),
        ("1_000", "1000"),
        ("$1,200", "1200"),
        ("-$5", "-5"),
        ("$-5", "-5"),
        ("−5", "-5"),
        ("–5", "-5"),
        ("1e3", "1000"),
        ("2.5e-4", "0.00025"),
        ("1.5 × 10^3", "1500"),
        (".5", "0.5"),
        ("5.", "5"),
        ("3.14.", "3.14"),
        ("The answer is 42.", "42"),
        ("between 3 and 7", "7"),
        ("version 1.2.3 costs 4", "4"),
        ("10-5", "5"),
        ("(5)", "5"),
        ("12th", "12"),
        ("3/4", "0.75"),
        ("１２", "12"),
        ("٣", "3"),
        ("١٬٠٠٠٫٥", "1000.5"),
        ("45%", "45"),
        ("10 20 30", "30"),
        ("2024 100", "100"),
        (7, "7"),
        (0.1, "0.1"),
        (Decimal("2.50"), "2.5"),
        (True, "1"),
        (2**70, str(2**70)),
    ],
)
def test_the_number_of_a_text_is_read(text: object, number: str) -> None:
    assert read_number(text).value == Fraction(number)


@pytest.mark.parametrize(("text", "number"), [("1.234,56", "1234.56"), ("3,5", "3.5"), ("1 000,5", "1000.5")])
def test_the_decimal_sign_can_be_a_comma(text: str, number: str) -> None:
    decimal: DecimalSign = ","
    assert read_number(text, decimal=decimal).value == Fraction(number)


@pytest.mark.parametrize(
    "text",
    [
        *["", "none", "½", "1.2.3", "12,34", "1,0000", "3/4/2024", "0x1F", "10^3", "10²", "1e999", "1/0", "9" * 500],
        *[float("nan"), float("inf"), 1j],
    ],
)
def test_a_number_that_cannot_be_read_says_so(text: object) -> None:
    reading = read_number(text)
    assert reading.value is None
    assert reading.fault


def test_a_comma_that_may_be_the_decimal_sign_is_named() -> None:
    assert "if ',' is the decimal sign, give decimal=','" in read_number("3,5").fault


def test_the_first_number_can_be_picked() -> None:
    assert score(scorers.number_check("4 of 10", 4, pick="first")) == 1
    assert score(scorers.number_check("4 of 10", 4)) == 0


@pytest.mark.parametrize(
    ("output", "expected", "policy", "wanted"),
    [
        ("45%", "45", "strip", 1),
        ("45%", "0.45", "fraction", 1),
        ("45 percent", "0.45", "fraction", 1),
        ("45%", "45", "refuse", 0),
        ("45", "45%", "refuse", 0),
        ("45%", "45.0 %", "refuse", 1),
    ],
)
def test_a_percentage_is_compared_by_the_policy(output: str, expected: str, policy: str, wanted: int) -> None:
    assert score(scorers.number_check(output, expected, percent=policy)) == wanted  # type: ignore[arg-type]


def test_a_refused_percentage_names_the_policies() -> None:
    result = scorers.number_check("60%", 60)
    assert not isinstance(result, Unmeasured)
    assert 'percent="strip"' in result[1]["feedback"]


def test_an_absolute_difference_passes_or_fails_and_stands_in_the_scores() -> None:
    near = scorers.number_check("1.1", "1.0", operation="absolute difference", epsilon=0.1)
    assert near[0] == 1  # type: ignore[index]  # exact: as floats, 1.1 - 1.0 is above 0.1
    far = scorers.number_check("101", "99", operation="absolute difference", epsilon="0.5")
    assert far[0] == 0  # type: ignore[index]
    assert far[1]["scores"] == {"difference": 2.0}  # type: ignore[index]
    assert "Expected within 0.5 of '99', got '101': a difference of 2." in far[1]["feedback"]  # type: ignore[index]


def test_large_integers_are_compared_exactly() -> None:
    assert score(scorers.number_check(str(2**60 + 1), 2**60)) == 0


def test_an_output_without_a_number_fails_and_an_expected_value_without_one_is_unmeasured() -> None:
    assert score(scorers.number_check("none", 1)) == 0
    assert isinstance(scorers.number_check(1, "none"), Unmeasured)


@pytest.mark.parametrize("epsilon", [None, -1, "abc", float("nan")])
def test_an_absolute_difference_needs_an_epsilon(epsilon: float | str | None) -> None:
    with pytest.raises(scorers.ScorerError, match="needs an epsilon of 0 or more"):
        scorers.number_check(1, 1, operation="absolute difference", epsilon=epsilon)


def test_an_unknown_operation_names_the_nearest() -> None:
    with pytest.raises(scorers.ScorerError, match="Did you mean 'greater than'"):
        scorers.number_check(1, 1, operation="greater then")
