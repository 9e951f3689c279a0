"""Dividing rows into train, val and test: seeded, and the same on every machine.

Sizes. With fractions train and val round down and the last split asked for takes the rest. Counts are taken as they
stand; rows beyond them are in no split.

Stratify keeps those sizes exactly. Each value's rows are shared out in proportion, rounded down, and the rows left
over go where a split still lacks rows, at most one per value and split: no share is off by more than one row.

Group moves whole groups, so sizes become aims, for counts too. Groups are taken in seeded order, each to the split
that lacks most rows; no split exceeds its aim by as many rows as the largest group has, none that was asked for
stays empty, and groups of one row meet the sizes exactly. With stratify as well, a group goes, among the splits that
lack rows, to the one that lacks most of its values.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import TypeVar

from skynet.data.case import DataError
from skynet.spec import CountSplit, FractionSplit

SPLITS = ("train", "val", "test")
UNUSED = "unused"

Item = TypeVar("Item")


def seeded_order(items: Sequence[Item], names: Sequence[str], seed: int) -> list[Item]:
    """Return `items` shuffled by a hash of seed and name, so that neither platform nor Python version matters."""
    keys = [hashlib.sha256(f"{seed}:{name}".encode("utf-8", "surrogatepass")).digest() for name in names]
    return [items[index] for index in sorted(range(len(items)), key=lambda index: (keys[index], index))]


def split_sizes(total: int, split: FractionSplit | CountSplit, file: str) -> dict[str, int]:
    """Return the rows of each split that was asked for, in the order train, val, test; UNUSED when rows are left.

    Raises DataError when the rows do not suffice, or leave a split empty that was asked for.
    """
    asked = {name: part for name, part in split if part > 0}
    if isinstance(split, CountSplit):
        left = total - sum(asked.values())
        if left < 0:
            raise DataError(f"{file}: data.split asks for {total - left} rows, but there are {total}; ask for fewer")
        return {**asked, UNUSED: left} if left else asked
    sizes = {name: int(total * part) for name, part in asked.items()}  # a Decimal times an int, cut towards 0
    last = list(asked)[-1]
    sizes[last] = total - sum(size for name, size in sizes.items() if name != last)
    for name, size in sizes.items():
        if size == 0:
            share = f"{asked[name]} of {total} rows as {name}, which is less than one row"
            advice = "add rows, or ask for fewer splits, such as split = { train = 1.0 }"
            raise DataError(f"{file}: data.split asks for {share}; {advice}")
    return sizes


def assign(sizes: Mapping[str, int], strata: Sequence[str], order: Sequence[int]) -> list[str]:
    """Return the split of each row; split sizes are met exactly, and each stratum is spread in proportion.

    `strata` has one value per row; `order` is a permutation of row numbers, from 0. Sizes add up to the rows.
    """
    total = len(strata)
    members = _gather(strata, order)
    shares = {s: {name: len(rows) * size // total for name, size in sizes.items()} for s, rows in members.items()}
    lacking = {name: size - sum(share[name] for share in shares.values()) for name, size in sizes.items()}
    result = [""] * total
    for stratum, rows in members.items():
        share = shares[stratum]
        rounded_off = {name: len(rows) * size % total for name, size in sizes.items()}
        rest = len(rows) - sum(share.values())
        # Always to the splits that lack most: the choice that never runs out of splits for later strata.
        for name in sorted(sizes, key=lambda name: (lacking[name], rounded_off[name]), reverse=True)[:rest]:
            share[name] += 1
            lacking[name] -= 1
        names = [name for name in sizes for _ in range(share[name])]
        for index, name in zip(rows, names, strict=True):
            result[index] = name
    return result


def assign_groups(
    sizes: Mapping[str, int], strata: Sequence[str], groups: Sequence[str], order: Sequence[int]
) -> list[str]:
    """Return the split of each row, each group whole. There must be at least as many groups as splits asked for.

    Groups are placed in the order in which their first rows come, so that large ones tend to be early.
    """
    total = len(strata)
    members = _gather(groups, order)
    empty = [name for name in sizes if name != UNUSED]
    lacking = dict(sizes)
    # What each split lacks of each stratum, times the number of rows, so that shares stay whole numbers.
    wanted = {name: Counter({s: count * size for s, count in Counter(strata).items()}) for name, size in sizes.items()}
    result = [""] * total
    for placed, rows in enumerate(members.values()):
        held = Counter(strata[index] for index in rows)
        takers = [name for name in sizes if lacking[name] > 0]
        if len(members) - placed == len(empty):  # just enough groups are left to leave no split empty
            takers = empty
        fit = {name: sum(count * wanted[name][s] for s, count in held.items()) for name in takers}
        best = max(takers, key=lambda name: fit[name])
        wanted[best].subtract({s: count * total for s, count in held.items()})
        lacking[best] -= len(rows)
        empty = [name for name in empty if name != best]
        for index in rows:
            result[index] = best
    return result


def _gather(keys: Sequence[str], order: Sequence[int]) -> dict[str, list[int]]:
    """Return the row numbers of each key, keys and numbers as `order` brings them."""
    members: defaultdict[str, list[int]] = defaultdict(list)
    for index in order:
        members[keys[index]].append(index)
    return members
