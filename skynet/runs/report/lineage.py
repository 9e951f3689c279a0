"""Lays the versions out as a tree with few columns: the line to a version's main successor goes straight down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class LineageRow:
    """One version's row. `number` is its place in the order of proposals, 0 the start; `parent` its parent's number.

    `lane` is the column of its node, `from_lane` that of its parent's line (None for a root), `through` the columns of
    lines that only pass by, `continues` whether a line leaves the node downwards. `on_path` marks the versions from
    start to best; `path_below` whether the line in the first column, which is theirs, still leads to the best.
    """

    version: Mapping[str, Any]
    number: int
    parent: int | None
    lane: int
    from_lane: int | None
    through: tuple[int, ...]
    continues: bool
    on_path: bool
    path_below: bool


def lay_out(versions: Sequence[Mapping[str, Any]], best: str | None) -> list[LineageRow]:
    """Return the rows, children under their parents.

    The path to the best version keeps the parent's column, else the largest branch does; each of the others moves one
    column right. So n versions need about log2(n) columns, whatever the tree's depth or width.
    """
    parents = _parents(versions)
    children: dict[int | None, list[int]] = {}
    for number, parent in enumerate(parents):
        children.setdefault(parent, []).append(number)
    path = _path(versions, parents, best)
    sizes = _sizes(parents)
    for below in children.values():
        below.sort(key=lambda number: (number in path, sizes[number], number))
    rows: list[LineageRow] = []
    left = len(path)
    waiting: list[tuple[int, int, int | None, frozenset[int]]] = [
        (root, 0, None, frozenset()) for root in sorted(children.get(None, []), reverse=True)
    ]
    while waiting:
        number, lane, from_lane, through = waiting.pop()
        below = children.get(number, [])
        left -= number in path
        rows.append(
            LineageRow(
                versions[number], number, parents[number], lane, from_lane,
                tuple(sorted(through)), bool(below), number in path, 0 < left < len(path),
            )
        )  # fmt: skip
        if below:
            waiting.append((below[-1], lane, lane, through))
            waiting += [(child, lane + 1, lane, through | {lane}) for child in reversed(below[:-1])]
    return rows


def _parents(versions: Sequence[Mapping[str, Any]]) -> list[int | None]:
    """Return each version's parent by number; None for a root: no parent, an unknown one, or one that came later."""
    numbers: dict[Any, int] = {}
    found: list[int | None] = []
    for number, version in enumerate(versions):
        parent = version.get("parent")
        found.append(None if parent is None else numbers.get(parent))
        numbers.setdefault(version.get("id"), number)
    return found


def _path(versions: Sequence[Mapping[str, Any]], parents: Sequence[int | None], best: str | None) -> set[int]:
    path: set[int] = set()
    at = next((number for number, version in enumerate(versions) if version.get("id") == best), None)
    while at is not None:
        path.add(at)
        at = parents[at]
    return path


def _sizes(parents: Sequence[int | None]) -> list[int]:
    """Return how many versions each branch holds; a parent always comes before its children."""
    sizes = [1] * len(parents)
    for number in range(len(parents) - 1, -1, -1):
        parent = parents[number]
        if parent is not None:
            sizes[parent] += sizes[number]
    return sizes
