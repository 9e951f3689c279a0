from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skynet.runs.report.show import (
    chance,
    cut,
    dollars,
    duration,
    legible,
    milliseconds,
    moment,
    one_line,
    shown,
    spent,
)

Write = Callable[[float | None], str]


@pytest.mark.parametrize(
    ("write", "value", "written"),
    [
        (chance, 0.0004, "p < 0.001"), (chance, 0.012345, "p = 0.012"), (chance, 1.0, "p = 1"),
        (chance, None, "no p value"),
        (dollars, None, "–"), (dollars, 0.0, "$0"), (dollars, 1234.5, "$1,234.50"), (dollars, 0.0213, "$0.0213"),
        (dollars, 0.0000123, "$0.000012"), (dollars, 0.00021, "$0.00021"),
        (milliseconds, 1234.0, "1.23 s"), (milliseconds, 148.2, "148 ms"), (milliseconds, 1.234, "1.2 ms"),
        (duration, 4.24, "4.2 s"), (duration, 204.3, "3 min 24 s"), (duration, 7500, "2 h 5 min"),
        (duration, None, "–"), (moment, 1793700900.0, "2026-11-03 10:15:00 UTC"), (moment, None, "–"),
    ],
)  # fmt: skip
def test_figures_are_written_for_people(
    write: Callable[[float | None], str], value: float | None, written: str
) -> None:
    assert write(value) == written


@pytest.mark.parametrize(
    ("value", "lower_bound", "written"),
    [(None, True, "unknown"), (None, False, "unknown"), (0.0, False, "$0"), (0.25, False, "$0.2500"),
     (0.25, True, "at least $0.2500")],
)  # fmt: skip
def test_dollars_that_nobody_knows_are_never_written_as_0(value: float | None, lower_bound: bool, written: str) -> None:
    assert spent(value, lower_bound) == written


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is\n", "as it is\n"),
        (None, "–"),
        ({"a": "x", "b": 2}, "a: x\nb: 2"),
        ({}, "{}"),
        ([1, None, "é"], '[1, null, "é"]'),
        (True, "true"),
    ],
)
def test_values_are_shown_as_a_person_reads_them(value: Any, text: str) -> None:
    assert shown(value) == text


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("a\tb\nc", "a\tb\nc"),
        ("a\r\nb", "a\nb"),
        ("a\rb", "a\\rb"),
        ("\x00\x1b[31m", "\\x00\\x1b[31m"),
        ("\ud83d", "\\ud83d"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("خدمة ممتازة 🎉", "خدمة ممتازة 🎉"),
    ],
)
def test_what_cannot_be_seen_or_encoded_is_escaped(text: str, seen: str) -> None:
    assert legible(text) == seen


@given(st.text(st.characters()))
def test_legible_text_can_always_be_encoded(text: str) -> None:
    legible(text).encode("utf-8")


@given(st.text(), st.integers(10, 200))
def test_one_line_is_one_line_of_at_most_its_limit(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert len(line) <= limit
    assert "\n" not in line


def test_a_cut_text_says_how_much_is_left_out() -> None:
    assert cut("abcdef", 6) == "abcdef"
    assert cut("abcdef", 4) == "abcd\n... 2 more characters in report.json"
