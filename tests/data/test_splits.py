"""Sizes of splits, and who goes where."""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from skynet.data import DataError
from skynet.data.splits import UNUSED, assign, assign_groups, seeded_order, split_sizes
from skynet.spec import CountSplit, FractionSplit


def fractions(train: str, val: str = "0", test: str = "0") -> FractionSplit:
    return FractionSplit(train=Decimal(train), val=Decimal(val), test=Decimal(test))


@pytest.mark.parametrize(
    ("total", "split", "sizes"),
    [
        (10, fractions("0.6", "0.2", "0.2"), {"train": 6, "val": 2, "test": 2}),
        (9, fractions("0.6", "0.2", "0.2"), {"train": 5, "val": 1, "test": 3}),
        (100, fractions("0.29", "0.57", "0.14"), {"train": 29, "val": 57, "test": 14}),
        (7, fractions("0.8", "0.2"), {"train": 5, "val": 2}),
        (7, fractions("0.8", "0", "0.2"), {"train": 5, "test": 2}),
        (1, fractions("1"), {"train": 1}),
        (10, CountSplit(train=5, val=3, test=2), {"train": 5, "val": 3, "test": 2}),
        (10, CountSplit(train=5, test=2), {"train": 5, "test": 2, UNUSED: 3}),
    ],
)
def test_train_and_val_round_down_and_the_last_split_asked_for_takes_the_rest(
    total: int, split: FractionSplit | CountSplit, sizes: dict[str, int]
) -> None:
    assert split_sizes(total, split, "t.csv") == sizes


@pytest.mark.parametrize(
    ("total", "split", "said"),
    [
        (4, fractions("0.6", "0.2", "0.2"), "t.csv: data.split asks for 0.2 of 4 rows as val"),
        (1, fractions("0.6", "0.2", "0.2"), "t.csv: data.split asks for 0.6 of 1 rows as train"),
        (9, CountSplit(train=8, test=2), "t.csv: data.split asks for 10 rows, but there are 9"),
    ],
)
def test_an_empty_split_that_was_asked_for_and_too_few_rows_are_errors(
    total: int, split: FractionSplit | CountSplit, said: str
) -> None:
    with pytest.raises(DataError) as caught:
        split_sizes(total, split, "t.csv")
    assert said in str(caught.value)


def test_the_seeded_order_is_pinned_for_all_machines() -> None:
    names = [str(number) for number in range(1, 9)]
    assert "".join(seeded_order(names, names, 0)) == "74382651"


def test_seed_0_is_a_seed_and_other_seeds_give_other_orders() -> None:
    names = [str(number) for number in range(50)]
    orders = [seeded_order(names, names, seed) for seed in (-1, 0, 1)]
    assert orders == [seeded_order(names, names, seed) for seed in (-1, 0, 1)]
    assert len({tuple(order) for order in orders}) == 3


PARTS = st.lists(st.integers(1, 30), min_size=1, max_size=4)


def named(parts: list[int]) -> dict[str, int]:
    return dict(zip(("train", "val", "test", UNUSED), parts, strict=False))


@given(total=st.integers(1, 10_000), thousandths=st.tuples(st.integers(1, 998), st.integers(1, 998)))
def test_fractions_give_every_row_to_one_split(total: int, thousandths: tuple[int, int]) -> None:
    train, val = thousandths
    assume(train + val < 1000)
    assume(total * train >= 1000 and total * val >= 1000)
    split = fractions(str(Decimal(train) / 1000), str(Decimal(val) / 1000), str(Decimal(1000 - train - val) / 1000))
    sizes = split_sizes(total, split, "t.csv")
    assert (sizes["train"], sizes["val"]) == (total * train // 1000, total * val // 1000)
    assert sum(sizes.values()) == total


@given(parts=PARTS, seed=st.integers())
def test_every_split_gets_exactly_its_size(parts: list[int], seed: int) -> None:
    total = sum(parts)
    order = seeded_order(range(total), [str(index) for index in range(total)], seed)
    assert Counter(assign(named(parts), [""] * total, order)) == named(parts)


@given(parts=PARTS, seed=st.integers(), data=st.data())
def test_a_stratum_is_off_its_share_by_one_row_at_most_and_sizes_stay_exact(
    parts: list[int], seed: int, data: st.DataObject
) -> None:
    sizes, total = named(parts), sum(parts)
    strata = data.draw(st.lists(st.sampled_from("abcde"), min_size=total, max_size=total))
    order = seeded_order(range(total), [str(index) for index in range(total)], seed)
    names = assign(sizes, strata, order)
    assert Counter(names) == sizes
    got = Counter(zip(strata, names, strict=True))
    for stratum, count in Counter(strata).items():
        for name, size in sizes.items():
            assert abs(got[stratum, name] - count * size / total) <= 1


def test_strata_that_divide_evenly_are_divided_evenly() -> None:
    strata = [label for label in "abcd" for _ in range(5)]
    order = seeded_order(range(20), [str(index) for index in range(20)], 0)
    names = assign({"train": 12, "val": 4, "test": 4}, strata, order)
    got = Counter(zip(strata, names, strict=True))
    assert got == {(label, name): size for label in "abcd" for name, size in (("train", 3), ("val", 1), ("test", 1))}


@given(counts=st.lists(st.integers(1, 9), min_size=3, max_size=25), seed=st.integers(), data=st.data())
def test_groups_stay_whole_no_split_is_empty_and_none_exceeds_its_size_by_a_whole_group(
    counts: list[int], seed: int, data: st.DataObject
) -> None:
    groups = [str(number) for number, count in enumerate(counts) for _ in range(count)]
    total = len(groups)
    train = data.draw(st.integers(1, total - 2))
    val = data.draw(st.integers(1, total - train - 1))
    test = data.draw(st.integers(1, total - train - val))
    sizes = named([train, val, test, total - train - val - test])
    sizes = {name: size for name, size in sizes.items() if size}
    strata = data.draw(st.lists(st.sampled_from("ab"), min_size=total, max_size=total))
    order = seeded_order(range(total), [str(index) for index in range(total)], seed)
    names = assign_groups(sizes, strata, groups, order)
    assert len(set(zip(groups, names, strict=True))) == len(counts)
    got = Counter(names)
    assert got.total() == total
    for name, size in sizes.items():
        assert got[name] < size + max(counts)
        assert got[name] > 0 or name == UNUSED


@given(parts=PARTS, seed=st.integers())
def test_groups_of_one_row_give_the_exact_sizes(parts: list[int], seed: int) -> None:
    total = sum(parts)
    own = [str(index) for index in range(total)]
    assert Counter(assign_groups(named(parts), [""] * total, own, seeded_order(range(total), own, seed))) == named(
        parts
    )


def test_strata_of_groups_are_spread() -> None:
    groups = [str(index // 2) for index in range(80)]
    strata = ["ab"[index // 2 % 2] for index in range(80)]
    order = seeded_order(range(80), [str(index) for index in range(80)], 0)
    names = assign_groups({"train": 48, "val": 16, "test": 16}, strata, groups, order)
    got = Counter(zip(strata, names, strict=True))
    for name, half in (("train", 24), ("val", 8), ("test", 8)):
        assert math.isclose(got["a", name], half, abs_tol=2)
        assert math.isclose(got["b", name], half, abs_tol=2)
