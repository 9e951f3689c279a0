from __future__ import annotations

import threading
from typing import Any

from skynet.typed.adapters.fresh import fresh


class Stateful:
    def __init__(self) -> None:
        self.score: float | None = None
        self.seen: list[str] = []
        self.client = threading.Lock()  # cannot be copied


class Slots:
    __slots__ = ("score",)

    def __init__(self) -> None:
        self.score = 0.0


class Refuses:
    def __copy__(self) -> Any:
        raise RuntimeError("one of a kind")


def test_a_copy_takes_nothing_back_and_shares_what_cannot_be_copied() -> None:
    metric = Stateful()
    twin = fresh(metric)
    twin.score = 1.0
    twin.seen.append("a case")
    assert (metric.score, metric.seen) == (None, [])
    assert twin.client is metric.client


def test_a_function_and_an_object_that_refuses_are_themselves() -> None:
    def function() -> None: ...

    function.cache = {}  # type: ignore[attr-defined]
    refuses = Refuses()
    assert fresh(function) is function
    assert fresh(refuses) is refuses


def test_an_object_with_slots_is_copied() -> None:
    metric = Slots()
    fresh(metric).score = 1.0
    assert metric.score == 0.0
