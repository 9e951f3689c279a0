from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from skynet.metric.numeric import NotANumber, finite, real

NUMBERS: list[tuple[Any, float]] = [
    (True, 1.0),
    (False, 0.0),
    (3, 3.0),
    (-0.5, -0.5),
    (Decimal("0.25"), 0.25),
    (Fraction(1, 4), 0.25),
    (np.float32(0.5), 0.5),
    (np.float64(0.5), 0.5),
    (np.longdouble(0.5), 0.5),
    (np.int8(-3), -3.0),
    (np.uint64(7), 7.0),
    (np.bool_(True), 1.0),
    (np.array(0.5), 0.5),
    (np.array(True), 1.0),
]
OTHERS: list[tuple[Any, str]] = [
    ("0.8", "is a string"),
    (np.str_("0.8"), "is a string"),
    (b"1", "is bytes"),
    (bytearray(b"1"), "is bytes"),
    (None, "it is None"),
    (1j, "is a complex number"),
    (np.complex128(1), "is a complex number"),
    ([1.0], "it is a list of 1 item"),
    ({}, "it is an empty dict"),
    (object(), "it is a value of type object"),
    (np.array([0.5]), "is an array"),
    (np.array([]), "is an array"),
    (np.array("0.5"), "it is a value of type ndarray"),
    (np.array(None), "it is a value of type ndarray"),
    (np.datetime64("2020-01-01"), "it is a value of type datetime64"),
    (np.timedelta64(5, "s"), "it is a value of type timedelta64"),
    (float, "it is a value of type type"),
]
NOT_FINITE: list[tuple[Any, str]] = [
    (math.nan, "is NaN"),
    (Decimal("NaN"), "is NaN"),
    (Decimal("sNaN"), "is NaN"),
    (np.float16("nan"), "is NaN"),
    (math.inf, "is infinite"),
    (-math.inf, "is infinite"),
    (Decimal("Infinity"), "is infinite"),
    (Decimal("1e400"), "too large"),
    (10**400, "too large"),
    (-(10**5000), "too large"),
    (Fraction(10**400), "too large"),
]


@pytest.mark.parametrize(("value", "expected"), NUMBERS, ids=repr)
def test_a_number_of_any_kind_becomes_a_float(value: Any, expected: float) -> None:
    number = finite(value)
    assert (type(number), number) == (float, expected)


@pytest.mark.parametrize(("value", "words"), OTHERS, ids=[type(value).__name__ for value, _ in OTHERS])
def test_what_is_no_number_is_named(value: Any, words: str) -> None:
    with pytest.raises(NotANumber, match=words):
        real(value)


@pytest.mark.parametrize(("value", "words"), NOT_FINITE, ids=[words for _, words in NOT_FINITE])
def test_what_is_not_finite_is_named(value: Any, words: str) -> None:
    with pytest.raises(NotANumber, match=words):
        finite(value)


def test_infinity_is_real_but_not_finite() -> None:
    assert real(math.inf) == math.inf


def test_a_masked_numpy_value_is_not_taken_for_zero() -> None:
    with pytest.warns(UserWarning, match="masked"), pytest.raises(NotANumber, match="is NaN"):
        finite(np.ma.masked)
