from __future__ import annotations

from typing import Any

import pytest

from skynet.metric.show import show


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "None"),
        (True, "True"),
        (0.8, "0.8"),
        (12, "12"),
        ("Close.", "'Close.'"),
        ([], "an empty list"),
        ((1,), "a tuple of 1 item"),
        ({"a": 1, "b": 2}, "a dict of 2 items"),
        pytest.param(10**5000, "an int of 16610 bits", id="huge int"),
        ("x" * 100, repr("x" * 60) + "... (100 long)"),
        ("\ud800", r"'\ud800'"),
    ],
)
def test_a_value_is_told_in_few_words(value: Any, words: str) -> None:
    assert show(value) == words


def test_the_repr_of_a_users_object_is_never_called() -> None:
    class Hostile:
        def __repr__(self) -> str:
            raise RuntimeError

    assert show(Hostile()) == "a value of type Hostile"
