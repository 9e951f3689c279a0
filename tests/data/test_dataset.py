"""From a spec to three splits, and the sample for the check."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from skynet.data import Case, DataError, Dataset, load_dataset, sample_cases
from skynet.spec import ColumnSplit, CountSplit, DataSpec, FractionSplit, PathSplit

Load = Callable[..., Dataset]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "dåta set"
    folder.mkdir()
    return folder


@pytest.fixture
def load(root: Path) -> Load:
    def write_and_load(rows: list[dict[str, Any]], **keys: Any) -> Dataset:
        (root / "t.json").write_text("[" + ",\n".join(json.dumps(row) for row in rows) + "]", encoding="utf-8")
        return load_dataset(DataSpec(**{"path": "t.json", "inputs": ("m",), "outputs": ("label",), **keys}), root)

    return write_and_load


def tickets(count: int) -> list[dict[str, Any]]:
    return [{"m": f"message {n}", "label": "abc"[n % 3], "customer": n // 4, "key": f"k{n}"} for n in range(count)]


def ids(cases: tuple[Case, ...]) -> list[str]:
    return [case.id for case in cases]


def test_without_a_split_rows_go_60_20_20_and_keep_the_order_of_the_file(load: Load) -> None:
    data = load(tickets(20))
    assert [len(part) for part in (data.train, data.val, data.test)] == [12, 4, 4]
    for part in (data.train, data.val, data.test):
        assert ids(part) == sorted(ids(part), key=int)
    assert data.warnings == ()


def test_the_same_seed_gives_the_same_splits_and_0_is_one_of_them(load: Load) -> None:
    assert load(tickets(30), seed=0) == load(tickets(30)) == load(tickets(30), seed=0)
    assert ids(load(tickets(30), seed=0).train) != ids(load(tickets(30), seed=1).train)


def test_with_an_id_column_the_order_of_the_rows_does_not_matter(load: Load) -> None:
    one, other = load(tickets(30), id="key"), load(tickets(30)[::-1], id="key")
    assert set(ids(one.test)) == set(ids(other.test))
    assert set(ids(one.train)) == set(ids(other.train))


def test_stratify_keeps_the_mix_of_values_in_every_split(load: Load) -> None:
    data = load(tickets(30), stratify="label")
    for part, size in ((data.train, 6), (data.val, 2), (data.test, 2)):
        labels = [case.expected["label"] for case in part if case.expected]
        assert [labels.count(label) for label in "abc"] == [size] * 3


def test_groups_stay_whole_and_a_deviation_from_the_sizes_is_a_warning(load: Load) -> None:
    data = load(tickets(30), group="customer", split=CountSplit(train=15, val=5, test=10))
    groups = [{(int(case.id) - 1) // 4 for case in part} for part in (data.train, data.val, data.test)]
    assert sum(len(group) for group in groups) == len(set.union(*groups)) == 8
    assert "whole groups do not add up to the sizes asked for; rows placed: train 16 of 15" in data.warnings[0]


@pytest.mark.parametrize(
    ("rows", "keys", "said"),
    [
        (tickets(8), {"group": "customer"}, "t.json: data.group 'customer' has 2 different values, too few to give"),
        (
            [{"m": "x", "g": "a"}, {"m": "y", "g": None}] * 5,
            {"group": "g"},
            "line 2: no value in 'g', which data.group",
        ),
        (
            tickets(8),
            {"group": "custom"},
            "line 1: no column 'custom', which data.group names. Did you mean 'customer'?",
        ),
        (tickets(8), {"stratify": "lable"}, "no column 'lable', which data.stratify names. Did you mean 'label'?"),
        (tickets(8), {"outputs": ("lable",)}, "no column 'lable', which data.outputs names. Did you mean 'label'?"),
        (tickets(4), {}, "data.split asks for 0.2 of 4 rows as val, which is less than one row"),
        (tickets(4), {"id": "customer"}, "line 2: the id '0' was already used in"),
    ],
)
def test_data_that_does_not_fit_the_spec_is_an_error(
    load: Load, rows: list[dict[str, Any]], keys: dict[str, Any], said: str
) -> None:
    with pytest.raises(DataError) as caught:
        load([{"label": "a", **row} for row in rows], **keys)
    assert said in str(caught.value)


def test_rows_beyond_the_counts_are_in_no_split_and_that_is_a_warning(load: Load) -> None:
    data = load(tickets(10), split=CountSplit(train=5, val=2, test=1))
    assert [len(part) for part in (data.train, data.val, data.test)] == [5, 2, 1]
    assert data.warnings == ("2 of 10 rows are in no split: data.split asks for fewer rows than there are",)


def test_a_column_may_say_the_split(load: Load) -> None:
    rows = [{**row, "part": part} for row, part in zip(tickets(4), ["test", "train", "val", "train"], strict=True)]
    data = load(rows, split=ColumnSplit(column="part"))
    assert (ids(data.train), ids(data.val), ids(data.test)) == (["2", "4"], ["3"], ["1"])


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        (["train", "tests"], "line 2: 'part' is 'tests'; write train, val or test. Did you mean 'test'?"),
        (["train", "Train"], "line 2: 'part' is 'Train'; write train, val or test."),
        (["train", None], "line 2: no value in 'part', which data.split.column names"),
        (["val", "test"], "t.json: no row is in train"),
    ],
)
def test_a_column_that_says_something_else_is_an_error(load: Load, parts: list[str | None], said: str) -> None:
    rows = [{**row, "part": part} for row, part in zip(tickets(2), parts, strict=True)]
    with pytest.raises(DataError) as caught:
        load(rows, split=ColumnSplit(column="part"))
    assert said in str(caught.value)


def test_splits_may_be_files_and_ids_then_start_with_the_name_of_the_split(root: Path) -> None:
    (root / "träin.csv").write_text("m,label\nx,a\ny,b\n", encoding="utf-8")
    (root / "test.jsonl").write_text('{"m": "z"}\n', encoding="utf-8")
    split = PathSplit(train="träin.csv", test="test.jsonl")
    data = load_dataset(DataSpec(inputs=("m",), outputs=("label",), split=split), root)
    assert (ids(data.train), ids(data.test)) == (["train:1", "train:2"], ["test:1"])
    assert data.test[0].expected is None
    assert data.val is data.train


def test_without_val_train_serves_as_val_and_without_test_there_is_no_verdict(load: Load) -> None:
    data = load(tickets(6), split=CountSplit(train=6))
    assert data.val is data.train
    assert data.test == ()
    assert data.warnings == (
        "there is no val split: train serves as val, so val scores are not held out",
        "there is no test split: the run ends without a verdict on unseen cases",
    )


def test_without_data_there_is_one_case_with_an_empty_input_and_nothing_is_held_out(root: Path) -> None:
    data = load_dataset(None, root)
    assert [(case.input, case.expected) for case in data.train] == [({}, None)]
    assert data.val is data.train
    assert data.test == ()
    assert "nothing is held out" in data.warnings[0]


def test_equal_inputs_in_two_splits_are_a_warning_naming_the_cases(load: Load) -> None:
    parts = ["train", "train", "val", "test", "test"]
    rows = [{"m": m, "label": m, "part": part} for m, part in zip("abbac", parts, strict=True)]
    data = load(rows, split=ColumnSplit(column="part"))
    assert data.warnings == (
        "leak: 1 input stands in train and in val too (cases 2 = 3); val is not unseen",
        "leak: 1 input stands in train and in test too (cases 1 = 4); test is not unseen",
    )


def test_a_long_list_of_leaks_is_cut(load: Load) -> None:
    rows = [{"m": n, "label": n, "part": part} for part in ("train", "test") for n in range(7)]
    (_, leak) = load(rows, split=ColumnSplit(column="part")).warnings
    assert leak.startswith("leak: 7 inputs stand in train and in test too (cases 1 = 8, 2 = 9, ")
    assert "5 = 12 and more" in leak


def test_the_sample_is_seeded_never_of_test_and_of_different_expected_values(load: Load) -> None:
    rows = [{"m": n, "label": "rare" if n in (5, 25) else "common"} for n in range(40)]
    data = load(rows, stratify="label", split=FractionSplit(train=Decimal("0.5"), test=Decimal("0.5")))
    for seed in range(10):
        sample = sample_cases(data, seed=seed)
        assert sample == sample_cases(data, 3, seed)
        assert len({case.id for case in sample}) == 3
        assert not set(ids(tuple(sample))) & set(ids(data.test))
        assert [case.expected for case in sample].count({"label": "rare"}) == 1
    assert len({tuple(ids(tuple(sample_cases(data, seed=seed)))) for seed in range(10)}) > 1


def test_the_sample_is_drawn_from_val_too_and_holds_all_cases_when_there_are_few(load: Load) -> None:
    data = load(tickets(4), split=CountSplit(train=1, val=1, test=2))
    assert {case.id for case in sample_cases(data)} == {*ids(data.train), *ids(data.val)}
    assert len(sample_cases(load(tickets(2), split=CountSplit(train=2)))) == 2
