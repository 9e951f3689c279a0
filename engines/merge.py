"""Merging: the parts of two versions that lead on different cases, put together; a pure choice, the same every time."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations


@dataclass(frozen=True, slots=True)
class Member:
    """One version of a population: its parts, its score by case, and the numbers of the versions that it came from."""

    parts: Mapping[str, str]
    scores: Mapping[int, float]
    parents: Sequence[int] = ()

    @property
    def mean(self) -> float:
        """The mean over its cases."""
        return sum(self.scores.values()) / len(self.scores)


@dataclass(frozen=True, slots=True)
class Merge:
    """The parts put together, the numbers of both versions (the better one first), and the cases where they differ."""

    parts: dict[str, str]
    pair: tuple[int, int]
    contested: tuple[int, ...]


def find_merge(members: Sequence[Member], tried: Collection[tuple[int, int]]) -> Merge | None:
    """Return the merge of the pair that would gain most if each case went as well as with the better of the two.

    Only pairs that are not in `tried`, whose versions each lead on a case, and whose merge is no version yet.
    """
    known = [dict(member.parts) for member in members]
    best: tuple[float, Merge] | None = None
    for pair in combinations(range(len(members)), 2):
        if pair in tried:
            continue
        merge = _merged(members, pair)
        if merge is None or merge.parts in known:
            continue
        promise = _promise(members[pair[0]], members[pair[1]])
        if best is None or promise > best[0]:
            best = (promise, merge)
    return None if best is None else best[1]


def _merged(members: Sequence[Member], pair: tuple[int, int]) -> Merge | None:
    one, other = (members[number] for number in pair)
    shared = sorted(one.scores.keys() & other.scores.keys())
    contested = tuple(case for case in shared if one.scores[case] != other.scores[case])
    if not contested or len({one.scores[case] > other.scores[case] for case in contested}) < 2:
        return None  # one of them leads nowhere
    ancestor = _common_ancestor(members, pair)
    if ancestor is None:
        return None
    first, second = pair if one.mean >= other.mean else pair[::-1]
    origin = members[ancestor].parts
    parts = {
        name: members[second].parts[name] if text == origin[name] else text
        for name, text in members[first].parts.items()
    }
    return Merge(parts, (first, second), contested)


def _common_ancestor(members: Sequence[Member], pair: tuple[int, int]) -> int | None:
    """Return the latest version that both came from."""
    one, other = (set(_line(members, number)) for number in pair)
    return max(one & other, default=None)


def _line(members: Sequence[Member], number: int) -> Iterator[int]:
    yield number
    for parent in members[number].parents:
        yield from _line(members, parent)


def _promise(one: Member, other: Member) -> float:
    shared = one.scores.keys() & other.scores.keys()
    return sum(max(one.scores[case], other.scores[case]) for case in sorted(shared)) / len(shared)
