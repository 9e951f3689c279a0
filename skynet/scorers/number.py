"""number_check: a comparison of two numbers that are found in texts."""

from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction
from operator import eq, ge, gt, le, lt, ne
from typing import Any, Literal, TypeAlias

from skynet.errors import nearest
from skynet.metric.contract import Unmeasured
from skynet.metric.numeric import finite
from skynet.metric.show import show
from skynet.scorers.number_text import DecimalSign, Pick, Reading, read_like_nemo, read_number
from skynet.scorers.result import NO_REFERENCE, Pair, Profile, Result, ScorerError, is_nemo, one_of_options, pair
from skynet.scorers.text import text_of

Percent: TypeAlias = Literal["refuse", "strip", "fraction"]
DIFFERENCE = "absolute difference"
_CHOICES = {"percent": ("refuse", "strip", "fraction"), "decimal": (".", ","), "pick": ("last", "first")}
_OPERATIONS: dict[str, tuple[str, Callable[[Any, Any], bool]]] = {
    "equals": ("equal to", eq),
    "==": ("equal to", eq),
    "!=": ("other than", ne),
    "<>": ("other than", ne),
    "not equals": ("other than", ne),
    ">": ("above", gt),
    "gt": ("above", gt),
    "greater than": ("above", gt),
    ">=": ("at least", ge),
    "gte": ("at least", ge),
    "greater than or equal": ("at least", ge),
    "<": ("below", lt),
    "lt": ("below", lt),
    "less than": ("below", lt),
    "<=": ("at most", le),
    "lte": ("at most", le),
    "less than or equal": ("at most", le),
}


def number_check(
    output: object,
    expected: object,
    *,
    operation: str = "equals",
    epsilon: float | str | None = None,
    percent: Percent = "refuse",
    decimal: DecimalSign = ".",
    pick: Pick = "last",
    profile: Profile = "default",
) -> Result:
    """Score 1 when the number in the output stands to the expected one as `operation` says, else 0.

    "absolute difference" needs `epsilon`, the largest difference that passes; the difference stands in `scores`.
    percent: "strip" reads 45% as 45, "fraction" as 0.45, "refuse" compares percentages with percentages only.
    Unmeasured when the expected value holds no number.
    """
    tolerance = _tolerance(operation, epsilon)
    for option, value in (("percent", percent), ("decimal", decimal), ("pick", pick)):
        one_of_options("number_check", option, value, _CHOICES[option])
    if expected is None:
        return NO_REFERENCE
    if is_nemo("number_check", profile):
        return _like_nemo(output, expected, operation, tolerance)
    wanted, got = read_number(expected, pick, decimal), read_number(output, pick, decimal)
    if wanted.value is None:
        return Unmeasured(f"The expected value holds no number to compare with: {wanted.fault}.")
    if got.value is None:
        return pair(0, f"Expected {_goal(operation, tolerance, wanted.text)}, but {got.fault}.")
    if percent == "refuse" and got.percent != wanted.percent:
        which = "output" if got.percent else "expected value"
        policy = 'number_check(percent="strip") reads 45% as 45, percent="fraction" as 0.45'
        seen = f"expected {show(wanted.text)}, got {show(got.text)}"
        return pair(0, f"Only the {which} is a percentage: {seen}. {policy}.")
    return _compared(_value(got, percent), _value(wanted, percent), operation, tolerance, got.text, wanted.text)


def _tolerance(operation: str, epsilon: float | str | None) -> Fraction | None:
    """Return epsilon as an exact number. Raises ScorerError for an unknown operation or an epsilon out of place."""
    known = (*_OPERATIONS, DIFFERENCE)
    if operation not in known:
        hint = nearest(operation, known) if isinstance(operation, str) else ""
        raise ScorerError(f"number_check: there is no operation {show(operation)}; it has {', '.join(known)}.{hint}")
    if operation != DIFFERENCE:
        if epsilon:
            raise ScorerError(f"number_check: epsilon goes with operation={DIFFERENCE!r}, not with {operation!r}.")
        return None
    try:
        number = finite(float(epsilon) if isinstance(epsilon, str) else epsilon)
    except ValueError:  # NotANumber is one
        number = -1.0
    if number < 0:
        message = f"number_check: {DIFFERENCE!r} needs an epsilon of 0 or more, such as 0.5"
        raise ScorerError(f"{message}; it is {show(epsilon)}.")
    return Fraction(repr(number))


def _value(reading: Reading, percent: Percent) -> Fraction:
    value = reading.value or Fraction(0)
    return value / 100 if reading.percent and percent == "fraction" else value


def _like_nemo(output: object, expected: object, operation: str, tolerance: Fraction | None) -> Result:
    got, wanted = read_like_nemo(text_of(output)), read_like_nemo(text_of(expected))
    if got is None or wanted is None:
        return Unmeasured(f"There is no number in {show(text_of(output if got is None else expected))}.")
    return _compared(got, wanted, operation, None if tolerance is None else float(tolerance), str(got), str(wanted))


def _compared(got: Any, wanted: Any, operation: str, tolerance: Any, got_text: str, wanted_text: str) -> Pair:
    difference = abs(got - wanted)
    passed = difference <= tolerance if operation == DIFFERENCE else _OPERATIONS[operation][1](got, wanted)
    scores = {"difference": float(min(difference, sys.float_info.max))}
    goal = _goal(operation, tolerance, wanted_text)
    if passed:
        return pair(1, f"Correct: {show(got_text)} is {goal}.", scores)
    return pair(0, f"Expected {goal}, got {show(got_text)}: a difference of {scores['difference']:g}.", scores)


def _goal(operation: str, tolerance: Any, wanted: str) -> str:
    if operation == DIFFERENCE:
        return f"within {float(tolerance):g} of {show(wanted)}"
    return f"a number {_OPERATIONS[operation][0]} {show(wanted)}"
