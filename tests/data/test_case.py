"""Content hashes of cases and values."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skynet.data import Case, DataError, content_hash

PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(codec=None), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def test_the_hash_of_a_case_covers_input_and_expected_only() -> None:
    case = Case("1", {"a": 1, "b": 2}, {"c": 3}, "x.csv", 2)
    assert case.content_hash == Case("9", {"b": 2, "a": 1}, {"c": 3}, "y.csv", 7).content_hash
    assert case.content_hash != Case("1", {"a": 1, "b": 2}, None, "x.csv", 2).content_hash
    assert case.content_hash != Case("1", {"a": 1, "b": 3}, {"c": 3}, "x.csv", 2).content_hash


def test_the_hash_is_the_same_in_every_process() -> None:
    assert (
        content_hash({"b": [1, None], "a": "é"}) == "12fb0e4e149f635c90ad12c5f15f61a5ec469ea62cdbf3426fd199a23982fb03"
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0),
        (1, True),
        (1, "1"),
        (None, "null"),
        ({}, []),
        ({"a": 1}, [["a", 1]]),
        ({"a": 1}, {"dict": [["a", 1]]}),
        ({1: 1}, {"1": 1}),
        (b"a", {"bytes": "61"}),
        (date(2026, 1, 2), "2026-01-02"),
        (date(2026, 1, 2), datetime(2026, 1, 2, tzinfo=UTC)),
        (Decimal("1.0"), 1.0),
        ("\ud800", "?"),
    ],
)
def test_values_of_different_kinds_have_different_hashes(one: Any, other: Any) -> None:
    assert content_hash(one) != content_hash(other)


def test_a_value_that_no_case_can_hold_is_named() -> None:
    with pytest.raises(DataError, match="a case cannot hold a set"):
        content_hash({"a": {1}})


def test_a_value_nested_without_end_is_an_error() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(DataError, match="nested too deeply"):
        content_hash(endless)


@given(value=st.dictionaries(st.text(max_size=3), PLAIN, max_size=5))
def test_the_order_of_keys_does_not_change_the_hash(value: dict[str, Any]) -> None:
    assert content_hash(dict(reversed(value.items()))) == content_hash(value)
