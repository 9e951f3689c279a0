from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from skynet.runs.report.lineage import lay_out


def tree(*parents: int | None) -> list[dict[str, Any]]:
    return [{"id": f"h{n}", "parent": None if p is None else f"h{p}"} for n, p in enumerate(parents)]


@st.composite
def trees(draw: st.DrawFn) -> list[dict[str, Any]]:
    size = draw(st.integers(1, 60))
    return tree(None, *(draw(st.integers(0, number - 1)) for number in range(1, size)))


def test_children_stand_under_their_parents_and_the_best_keeps_its_column() -> None:
    rows = lay_out(tree(None, 0, 0, 2, 2), "h4")
    assert [(row.number, row.lane, row.from_lane) for row in rows] == [
        (0, 0, None),
        (1, 1, 0),
        (2, 0, 0),
        (3, 1, 0),
        (4, 0, 0),
    ]
    assert [row.number for row in rows if row.on_path] == [0, 2, 4]
    assert [row.through for row in rows] == [(), (0,), (), (0,), ()]


def test_the_path_ends_at_the_best() -> None:
    rows = lay_out(tree(None, 0, 1), "h1")
    assert [(row.on_path, row.path_below) for row in rows] == [(True, True), (True, False), (False, False)]


def test_a_chain_stays_in_one_column_however_deep() -> None:
    rows = lay_out(tree(None, *range(5000)), None)
    assert {row.lane for row in rows} == {0}


def test_an_unknown_parent_makes_a_root() -> None:
    rows = lay_out([{"id": "a", "parent": "gone"}, {"id": "b", "parent": "b"}], "b")
    assert [(row.parent, row.from_lane) for row in rows] == [(None, None), (None, None)]


@given(trees(), st.integers(0, 59))
def test_every_version_has_one_row_after_its_parents_in_few_columns(versions: list[dict[str, Any]], best: int) -> None:
    rows = lay_out(versions, f"h{best}")
    places = {row.number: place for place, row in enumerate(rows)}
    assert sorted(places) == list(range(len(versions)))
    assert all(row.parent is None or places[row.parent] < places[row.number] for row in rows)
    assert max(row.lane for row in rows) <= 1 + math.log2(len(versions))
    assert all(row.lane == 0 for row in rows if row.on_path)


@given(trees())
def test_a_line_that_leaves_a_row_arrives_in_the_next(versions: list[dict[str, Any]]) -> None:
    rows = lay_out(versions, None)
    for above, below in pairwise(rows):
        leaving = {*above.through, *([above.lane] if above.continues else [])}
        assert {*below.through, below.from_lane} == leaving
