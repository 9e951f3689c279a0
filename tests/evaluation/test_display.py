from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skynet.evaluation.display import apart, json_ready, number, printable


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1.0, "1"), (0.0, "0"), (0.283267, "0.2833"), (-0.5, "-0.5"), (12345.678, "12350"), (1826.4, "1826"),
        (0.00001234567, "0.00001235"), (1e-12, "1e-12"), (3e20, "3e+20"), (1.826, "1.826"),
    ],
)  # fmt: skip
def test_a_number_has_four_significant_digits_and_no_exponent(value: float, shown: str) -> None:
    assert number(value) == shown


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_different_numbers_are_shown_apart(first: float, second: float) -> None:
    shown = apart(first, second)
    assert (shown[0] != shown[1]) is (first != second)


@pytest.mark.parametrize(
    ("value", "ready"),
    [
        (float("nan"), None),
        (float("-inf"), None),
        ((1, [Decimal("1.5"), b"x"]), [1, ["1.5", "b'x'"]]),
        ({1: {"a": (2,)}}, {"1": {"a": [2]}}),
        (True, True),
        ([10**5000], [hex(10**5000)]),
    ],
)
def test_what_json_cannot_hold_becomes_text_or_null(value: Any, ready: Any) -> None:
    assert json_ready(value) == ready
    json.dumps(json_ready(value), allow_nan=False)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ü 日本\n\tnext", "plain ü 日本\n\tnext"),
        ("a\ud800b", "a\\ud800b"),
        ("\x1b[31mred\x00\r", "\\x1b[31mred\\x00\\r"),
        ("safe\u202eevil", "safe\\u202eevil"),
        ("10\u00a0000 \U0001f468\u200d\U0001f469", "10\u00a0000 \U0001f468\u200d\U0001f469"),
    ],
)
def test_text_is_made_safe_for_any_terminal(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(st.text(st.characters(codec=None)))
def test_printable_text_can_always_be_written_as_utf_8(text: str) -> None:
    assert "\x1b" not in printable(text).encode("utf-8").decode("utf-8")
