"""Values cross exactly, or are refused with their type and path."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import IntEnum, StrEnum
from typing import Any, NamedTuple

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from skynet.workers.frames import HEADER, Unsupported, decode, encode, pack

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters())
    | st.binary()
    | st.datetimes()
    | st.dates()
    | st.decimals(allow_nan=False)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(st.text() | st.integers(), inner)
        | st.dictionaries(st.just("$tuple") | st.just("$dict"), inner)
    ),
    max_leaves=20,
)


def crossed(value: Any) -> Any:
    return decode(encode({"value": pack(value)})[HEADER.size :])["value"]


@given(VALUES)
def test_every_supported_value_crosses_exactly(value: Any) -> None:
    back = crossed(value)
    assert back == value
    assert repr(back) == repr(value)


@pytest.mark.parametrize("value", [math.inf, -math.inf, -0.0, "\ud800", "\x00", {}, ()])
def test_odd_values_cross(value: Any) -> None:
    assert repr(crossed(value)) == repr(value)


def test_an_int_longer_than_python_prints_crosses() -> None:
    assert crossed([10**5000]) == [10**5000]


def test_nan_crosses() -> None:
    assert math.isnan(crossed(math.nan))


@dataclass
class Point:
    x: int
    where: tuple[int, ...]


class Model(BaseModel):
    name: str
    at: datetime


class Pair(NamedTuple):
    a: int
    b: int


class Color(StrEnum):
    RED = "red"


class Level(IntEnum):
    LOW = 1


@pytest.mark.parametrize(
    ("value", "arrives"),
    [
        (Point(1, (2, 3)), {"x": 1, "where": (2, 3)}),
        (Model(name="a", at=datetime(2026, 1, 2, tzinfo=UTC)), {"name": "a", "at": datetime(2026, 1, 2, tzinfo=UTC)}),
        (Pair(1, 2), (1, 2)),
        (Color.RED, "red"),
        (Level.LOW, 1),
        (numpy.float64(0.5), 0.5),
        ([date(2026, 1, 2), Decimal("1.10")], [date(2026, 1, 2), Decimal("1.10")]),
    ],
)
def test_richer_values_arrive_in_plain_terms(value: Any, arrives: Any) -> None:
    assert crossed(value) == arrives


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (object(), "a value of type object"),
        ({"a": [1, {2, 3}]}, "a value of type set at ['a'][1]"),
        ({(1, 2): 1}, "a dict key of type tuple"),
        ({True: 1}, "a dict key of type bool"),
        ([1j], "a value of type complex at [0]"),
        (numpy.int64(1), "a value of type numpy.int64"),
        (lambda: 1, "a value of type function"),
        (Point, "a value of type type"),
    ],
)
def test_anything_else_is_refused_with_type_and_path(value: Any, said: str) -> None:
    with pytest.raises(Unsupported) as refused:
        pack(value)
    assert said in str(refused.value)


@given(st.binary(max_size=200))
def test_bytes_that_are_no_frame_raise_nothing_but_value_error(body: bytes) -> None:
    try:
        assert isinstance(decode(body), dict)
    except ValueError:
        return


@pytest.mark.parametrize(
    "body", [b'{"$bytes": 5}', b'{"a": {"$what": 1}}', b'{"a": {"$int": "zz"}}', b'{"a": {"$dict": [1]}}', b"[" * 9000]
)
def test_forged_tags_raise_value_error(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"not a frame|base64|hexadecimal|invalid literal|must be|unpack|int"):
        decode(body)
