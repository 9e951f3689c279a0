"""levenshtein, and two bit-parallel counts on sequences: each step handles a row of the table as one integer."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from skynet.metric.show import show
from skynet.scorers.difference import expected_and_got
from skynet.scorers.result import NO_REFERENCE, Pair, Result, best, pair, references
from skynet.scorers.text import composed, text_of


def levenshtein(output: object, expected: object, *, ignore_case: bool = False) -> Result:
    """Score how near the output is to the expected text, 0 to 1: 1 - edits / characters of the longer text.

    Of several expected texts the nearest counts. The number of edits stands in `scores` as distance.
    """
    got, right = text_of(output), references(expected, output)
    if not right:
        return NO_REFERENCE
    return best([_near(got, reference, ignore_case) for reference in right])


def _near(got: str, expected: str, ignore_case: bool) -> Pair:
    one, other = (composed(text, ignore_case) for text in (got, expected))
    distance = edit_distance(one, other)
    if not distance:
        return pair(1, f"Correct: {show(got)}.", {"distance": 0.0})
    edits = f"{distance} edit{'' if distance == 1 else 's'} away."
    score = 1 - distance / max(len(one), len(other))
    return pair(score, f"{edits} {expected_and_got(expected, got)}", {"distance": float(distance)})


def edit_distance(first: str, second: str) -> int:
    """Return how many insertions, deletions and replacements of a character lead from one text to the other.

    Myers' algorithm in Hyyrö's form: the steps up and down inside a column of the table are the bits of two integers.
    """
    if not first or not second:
        return len(first) + len(second)
    places = _places(first)
    full, last = (1 << len(first)) - 1, 1 << (len(first) - 1)
    up, down, distance = full, 0, len(first)
    for char in second:
        here = places.get(char, 0)
        diagonal = here | down
        level = (((here & up) + up) ^ up) | here
        more, fewer = down | ~(level | up), up & level
        distance += bool(more & last) - bool(fewer & last)
        more, fewer = (more << 1) | 1, fewer << 1
        up = (fewer | ~(diagonal | more)) & full
        down = more & diagonal & full
    return distance


def common_length(first: Sequence[Hashable], second: Sequence[Hashable]) -> int:
    """Return the length of the longest common subsequence."""
    places = _places(first)
    full = (1 << len(first)) - 1
    row = full
    for item in second:
        matched = row & places.get(item, 0)
        row = ((row + matched) | (row - matched)) & full
    return len(first) - row.bit_count()


def _places(items: Sequence[Hashable]) -> dict[Hashable, int]:
    """Return for each item the positions where it stands, as the bits of an integer."""
    digits: dict[Hashable, list[int]] = {}
    for index, item in enumerate(items):
        digits.setdefault(item, []).append(index)
    return {item: _bits(indexes, len(items)) for item, indexes in digits.items()}


def _bits(indexes: list[int], length: int) -> int:
    cells = bytearray((length + 7) // 8)
    for index in indexes:
        cells[index >> 3] |= 1 << (index & 7)
    return int.from_bytes(cells, "little")
