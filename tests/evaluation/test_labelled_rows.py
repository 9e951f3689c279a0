from __future__ import annotations

from pathlib import Path

import pytest

from skynet.data.case import DataError
from skynet.evaluation.labelled_rows import Columns, label_of, read_labelled
from skynet.spec import DataSpec

ROWS = "q,city,output,ann,bob\na,Paris,one,Pass,pass\nb,,two,,\nc,Rome,three,fail,\nd,Rome,,pass,pass\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "rows.csv"
    file.write_text(ROWS)
    return file


def test_rows_with_an_output_and_a_label_are_read_and_the_rest_left_out(path: Path) -> None:
    first, second = read_labelled(path, Columns(["ann", "bob"]))
    assert (first.id, first.output, first.labels, first.line) == ("1", "one", {"ann": "pass", "bob": "pass"}, 2)
    assert (second.id, second.labels) == ("3", {"ann": "fail", "bob": None})
    assert (first.input, first.expected) == ({"q": "a", "city": "Paris"}, None)


def test_the_projects_data_says_what_is_input_and_what_is_expected(path: Path) -> None:
    data = DataSpec(path="other.csv", inputs=("q", "more"), outputs=("city",))
    [row, *_] = read_labelled(path, Columns(["ann"]), data)
    assert (row.input, row.expected) == ({"q": "a"}, {"city": "Paris"})


def test_a_label_that_the_project_expects_is_a_label_and_not_shown(path: Path) -> None:
    data = DataSpec(path="other.csv", inputs=("more",), outputs=("ann",))
    [row, *_] = read_labelled(path, Columns(["ann"]), data)
    assert (row.input, row.expected) == ({"q": "a", "city": "Paris", "bob": "pass"}, None)


def test_named_columns_win(path: Path) -> None:
    [row, *_] = read_labelled(path, Columns(["ann"], output="q", inputs=["output"], expected=["city"]))
    assert (row.output, row.input, row.expected) == ("a", {"output": "one"}, {"city": "Paris"})


def test_a_column_that_is_not_there_is_told(path: Path) -> None:
    with pytest.raises(DataError, match=r"no column 'anne'; there are .*'bob'\.* Did you mean 'ann'"):
        read_labelled(path, Columns(["anne"]))


def test_a_file_without_a_usable_row_is_told(path: Path) -> None:
    path.write_text("output,label\n,pass\nout,\n")
    with pytest.raises(DataError, match="no row has both"):
        read_labelled(path, Columns(["label"]))


def test_with_a_threshold_labels_are_numbers(path: Path) -> None:
    path.write_text("output,label\na,3\nb,2.5\nc,x\n")
    with pytest.raises(DataError, match=r"line 4: .*are numbers; this is 'x'"):
        read_labelled(path, Columns(["label"]), threshold=3)
    path.write_text("output,label\na,3\nb,2.5\n")
    rows = read_labelled(path, Columns(["label"]), threshold=3)
    assert [row.labels["label"] for row in rows] == ["pass", "fail"]


@pytest.mark.parametrize(
    ("value", "label"), [(" Pass ", "pass"), (True, "pass"), (False, "fail"), (3, "3"), ("A  b", "a b")]
)
def test_labels_are_compared_without_case_and_space(value: object, label: str) -> None:
    assert label_of(value) == label
