from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from skynet.scorers.redaction import REMOVED, without_expected


@pytest.mark.parametrize(
    ("reasoning", "expected", "left"),
    [
        ("It should be Paris.", {"city": "Paris"}, f"It should be {REMOVED}."),
        ("it should be PARIS", {"city": "Paris"}, f"it should be {REMOVED}"),
        ("new\n  york", {"city": "New York"}, REMOVED),
        ({"answer": "the Seine town", "got": "Rome"}, {"city": "Paris"}, {"answer": REMOVED, "got": "Rome"}),
        ({"Expected Answer": 1}, {"n": 2}, {"Expected Answer": REMOVED}),
        ([{"got": "Paris", "score": 0.5}], "Paris", [{"got": REMOVED, "score": 0.5}]),
        ({"Paris": 0.9}, {"city": "Paris"}, {REMOVED: 0.9}),
        ("a and b, then c", {"tags": ["a", {"x": "b"}]}, f"{REMOVED} and {REMOVED}, then c"),
        ("答えは東京です", {"city": "東京"}, f"答えは{REMOVED}です"),
        ("wanted 4, got 42, 4.5 and 4.", {"n": 4}, f"wanted {REMOVED}, got 42, 4.5 and {REMOVED}."),
        ("wanted 4", {"n": 4.0}, f"wanted {REMOVED}"),
        ({"want": 4.0, "got": 5}, {"n": 4}, {"want": REMOVED, "got": 5}),
        ("is it true? untrue", {"yes": True}, f"is it {REMOVED}? untrue"),
        ('{"want": "caf\\u00e9"}', {"x": "café"}, f'{{"want": "{REMOVED}"}}'),
        (None, {"city": "Paris"}, None),
        ("Paris", None, "Paris"),
        ("Paris", {"city": None, "other": " "}, "Paris"),
        ("a.c abc", {"x": "a.c"}, f"{REMOVED} abc"),
    ],
)
def test_expected_values_are_taken_out(reasoning: Any, expected: Any, left: Any) -> None:
    assert without_expected(reasoning, expected) == left


@given(before=st.text(), value=st.text(min_size=5), after=st.text())
def test_no_text_still_holds_a_longer_expected_value(before: str, value: str, after: str) -> None:
    assume(value.strip() == value and len(value.split()) == 1 and value.lower() not in REMOVED)
    assume(not value.replace(".", "").replace(",", "").lstrip("+-").isdigit())
    left = without_expected(f"{before}{value}{after}", {"x": value})
    assert value not in left.replace(REMOVED, "\0")
