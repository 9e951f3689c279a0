"""Rows from Python: as ready cases or by columns, whole or in their splits."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from skynet.data.case import Case, DataError
from skynet.data.dataset import Dataset
from skynet.errors import SkynetError
from skynet.evaluation.given_cases import given_dataset, plain_rows, whole_dataset
from skynet.spec import DataSpec

ROWS: list[dict[str, Any]] = [{"text": f"text {number}", "label": f"label {number % 3}"} for number in range(24)]
CASES = [{"input": {"text": row["text"]}, "expected": {"label": row["label"]}} for row in ROWS]


def data(**more: Any) -> DataSpec:
    return DataSpec.model_validate({"inputs": ["text"], "outputs": ["label"], **more})


def sizes(dataset: Dataset) -> list[int]:
    return [len(part) for part in (dataset.train, dataset.val, dataset.test)]


def test_cases_are_divided_60_20_20_without_a_data_table() -> None:
    dataset = given_dataset(CASES, None)
    assert sizes(dataset) == [14, 4, 6]
    assert {case.id for case in (*dataset.train, *dataset.val, *dataset.test)} == {str(n) for n in range(1, 25)}


def test_cases_are_divided_as_the_data_table_says_the_same_way_each_time() -> None:
    table = data(split={"train": 10, "val": 5, "test": 5}, seed=3)
    dataset = given_dataset(CASES, table)
    assert sizes(dataset) == [10, 5, 5]
    assert given_dataset(CASES, table) == dataset
    assert given_dataset(CASES, data(split={"train": 10, "val": 5, "test": 5}, seed=4)) != dataset


def test_rows_are_mapped_by_the_columns_that_the_data_table_names() -> None:
    dataset = given_dataset(ROWS, data())
    (first,) = [case for case in (*dataset.train, *dataset.val, *dataset.test) if case.id == "1"]
    assert (first.input, first.expected) == ({"text": "text 0"}, {"label": "label 0"})
    assert sizes(dataset) == [14, 4, 6]


def test_rows_may_have_a_column_called_input() -> None:
    rows = [{"input": {"nested": number}, "expected": number} for number in range(10)]
    dataset = given_dataset(rows, DataSpec.model_validate({"inputs": ["input"], "outputs": ["expected"]}))
    assert dataset.train[0].input.keys() == {"input"}


def test_a_column_may_name_the_split_and_keep_groups_together() -> None:
    rows = [{**row, "part": ("train", "val", "test")[number % 3]} for number, row in enumerate(ROWS)]
    assert sizes(given_dataset(rows, data(split={"column": "part"}))) == [8, 8, 8]
    grouped = given_dataset(rows, data(group="label"))
    assert all(len({case.expected["label"] for case in part if case.expected}) == 1 for part in (grouped.val,))


def test_given_splits_keep_their_rows_and_warn_of_leaks() -> None:
    dataset = given_dataset({"train": CASES[:2], "test": CASES[1:3]}, None)
    assert [case.input["text"] for case in dataset.train] == ["text 0", "text 1"]
    assert dataset.val is dataset.train
    assert any("leak: 1 input" in warning for warning in dataset.warnings)


def test_given_splits_may_be_rows_of_columns() -> None:
    dataset = given_dataset({"train": ROWS[:4], "val": ROWS[4:7], "test": ROWS[7:9]}, data())
    assert sizes(dataset) == [4, 3, 2]
    assert [case.id for case in dataset.test] == ["8", "9"]


def test_an_arrow_table_gives_its_rows() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"text": ["a", "b"], "label": [1, None], "at": [datetime(2026, 1, 1), None]})
    assert plain_rows(table) == [
        {"text": "a", "label": 1, "at": datetime(2026, 1, 1)},
        {"text": "b", "label": None, "at": None},
    ]


def test_a_data_frame_gives_its_rows_in_pythons_own_types() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"text": ["a", "b"], "count": [1, 2], "label": [0.5, None], "at": pandas.to_datetime(["2026-01-01", None])}
    )
    rows = plain_rows(frame)
    assert rows == [
        {"text": "a", "count": 1, "label": 0.5, "at": datetime(2026, 1, 1)},
        {"text": "b", "count": 2, "label": None, "at": None},
    ]
    assert {type(value) for row in rows for value in row.values()} == {str, int, float, datetime, type(None)}


def test_a_check_takes_all_rows_but_those_given_as_test() -> None:
    assert len(whole_dataset(CASES[:2], None).train) == 2
    dataset = whole_dataset({"train": ROWS[:2], "val": ROWS[2:4], "test": ROWS[4:6]}, data())
    assert [case.input["text"] for case in dataset.train] == ["text 0", "text 1", "text 2", "text 3"]


@pytest.mark.parametrize(
    ("cases", "table", "told"),
    [
        ({"train": CASES[:1], "tset": CASES[1:]}, None, "Did you mean 'test'?"),
        ({"test": CASES}, None, "no row in train"),
        ({"train": [{"id": "a", "input": {}}], "test": [{"id": "a", "input": {}}]}, None, "same id 'a'"),
        ([], None, "cases is empty"),
        (ROWS, None, 'say which columns are which: data={"inputs": ["text"], "outputs": ["label"]}'),
        (["x"], data(), "case 1: write it as"),
        ([ROWS[0], "x"], data(), "case 2: a row is a dict of its columns; got 'x'"),
        ("rows.csv", data(), "rows are a list of dicts, a DataFrame, or a dict of such by split; got str"),
        (7, data(), "got int"),
        ([{"txt": "a", "label": "b"}], data(), "no column 'text', which data.inputs names. Did you mean 'txt'?"),
        ([{**row, "text": object()} for row in ROWS], data(), "case 1: a case cannot hold a object"),
        (CASES, data(split={"column": "part"}), 'cases={"train"'),
        (CASES, data(stratify="label"), 'cases={"train"'),
        (ROWS, data(split={"train": "a.csv"}), "data.split names files, and these rows are in none"),
        (ROWS[:2], data(), "cases: data.split asks for 0.2 of 2 rows as val"),
    ],
)
def test_wrong_rows_are_refused_with_their_place(cases: Any, table: DataSpec | None, told: str) -> None:
    with pytest.raises(SkynetError) as caught:
        given_dataset(cases, table)
    assert told in str(caught.value)


def test_cases_may_be_case_objects() -> None:
    cases = [Case(str(number), {"text": "x"}, None, "", 1) for number in range(5)]
    assert sizes(given_dataset(cases, data())) == [3, 1, 1]


def test_an_id_column_must_tell_the_rows_apart() -> None:
    with pytest.raises(DataError, match="ids from 'label' must all differ"):
        given_dataset(ROWS, data(id="label"))
