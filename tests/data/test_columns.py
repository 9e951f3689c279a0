"""From rows to cases."""

from __future__ import annotations

from typing import Any

import pytest

from skynet.data import DataError, Row, to_cases
from skynet.data.columns import require_known, require_unique_ids
from skynet.spec import DataSpec


def rows(*values: dict[str, Any], empty_is_missing: bool = False) -> list[Row]:
    return [Row(value, line, "t.json", empty_is_missing) for line, value in enumerate(values, start=2)]


def spec(**keys: Any) -> DataSpec:
    return DataSpec(**{"path": "t.json", "inputs": ("m",), "outputs": ("label", "note"), **keys})


def test_inputs_and_expected_are_dicts_in_mapping_order_and_other_columns_are_left_out() -> None:
    (case,) = to_cases(
        rows({"x": 1, "note": "n", "m": ["hi"], "label": None}), spec(inputs=("m", "note"), outputs=("label", "x"))
    )
    assert list(case.input.items()) == [("m", ["hi"]), ("note", "n")]
    assert case.expected == {"label": None, "x": 1}
    assert (case.id, case.file, case.line) == ("1", "t.json", 2)


@pytest.mark.parametrize(
    ("values", "csv", "expected"),
    [
        ({"label": "a", "note": "b"}, True, {"label": "a", "note": "b"}),
        ({"label": "a", "note": ""}, True, {"label": "a", "note": ""}),
        ({"label": "", "note": ""}, True, None),
        ({"label": " ", "note": ""}, True, {"label": " ", "note": ""}),
        ({"label": "", "note": None}, False, {"label": "", "note": None}),
        ({"label": None, "note": None}, False, None),
        ({"label": None}, False, None),
        ({}, False, None),
        ({"note": 0}, False, {"label": None, "note": 0}),
        ({"label": False}, False, {"label": False, "note": None}),
    ],
)
def test_expected_is_none_when_every_output_is_missing(
    values: dict[str, Any], csv: bool, expected: dict[str, Any] | None
) -> None:
    (case,) = to_cases(rows({"m": "x", **values}, empty_is_missing=csv), spec())
    assert case.expected == expected


def test_expected_is_none_when_no_outputs_are_mapped() -> None:
    assert to_cases(rows({"m": "x", "label": "a"}), spec(outputs=()))[0].expected is None


def test_columns_called_id_input_expected_and_score_are_ordinary() -> None:
    row = {"id": "a", "input": "b", "expected": "c", "score": "d"}
    (case,) = to_cases(rows(row), spec(inputs=("id", "input"), outputs=("expected", "score")))
    assert case.id == "1"
    assert case.input == {"id": "a", "input": "b"}
    assert case.expected == {"expected": "c", "score": "d"}


def test_ids_come_from_the_column_that_the_spec_names() -> None:
    cases = to_cases(rows({"m": "x", "key": "k-7"}, {"m": "y", "key": 8}), spec(id="key"))
    assert [case.id for case in cases] == ["k-7", "8"]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"key": 1.5}, "the id in 'key' is 1.5; an id is a text or a whole number"),
        ({"key": True}, "the id in 'key' is True"),
        ({"key": None}, "no value in 'key', which data.id names; fill it in"),
        ({"kye": "a"}, "no column 'key', which data.id names. Did you mean 'kye'?"),
    ],
)
def test_an_id_that_is_none_is_an_error_naming_the_line(value: dict[str, Any], said: str) -> None:
    with pytest.raises(DataError) as caught:
        to_cases(rows({"m": "x", "key": "a"}, {"m": "y", **value}), spec(id="key"))
    assert str(caught.value).startswith("t.json, line 3: ")
    assert said in str(caught.value)


def test_two_equal_ids_are_an_error_naming_both_lines() -> None:
    cases = to_cases(rows({"m": "x", "key": "1"}, {"m": "y", "key": 2}, {"m": "z", "key": 1}), spec(id="key"))
    with pytest.raises(DataError, match=r"t\.json, line 4: the id '1' was already used in t\.json, line 2"):
        require_unique_ids(cases, "key")


def test_an_input_column_that_is_not_there_is_an_error_with_the_columns_that_are() -> None:
    with pytest.raises(DataError) as caught:
        to_cases(rows({"mesage": "x", "label": "a"}), spec(inputs=("message",)))
    said = "no column 'message', which data.inputs names. Did you mean 'mesage'? Columns here: 'mesage', 'label'."
    assert said in str(caught.value)


def test_an_input_missing_from_one_row_names_its_line() -> None:
    with pytest.raises(DataError, match=r"t\.json, line 3: no column 'm', .* Write null where a row has no value\."):
        to_cases(rows({"m": "x"}, {"n": "y"}), spec())


@pytest.mark.parametrize("mark", [";", "\t"])
def test_a_csv_file_with_another_separator_is_told_so(mark: str) -> None:
    with pytest.raises(DataError, match="separates columns with commas, this one seems to use"):
        to_cases(rows({f"m{mark}label": f"x{mark}a"}, empty_is_missing=True), spec())


def test_an_output_column_that_no_row_has_is_an_error() -> None:
    require_known(rows({"m": "x"}, {"m": "x", "label": "a"}), ["label"], "outputs")
    with pytest.raises(
        DataError, match=r"t\.json: no column 'labels', which data\.outputs names\. Did you mean 'label'\?"
    ):
        require_known(rows({"m": "x"}, {"m": "x", "label": "a"}), ["labels"], "outputs")
