"""Reading rows from CSV, JSON and JSONL files."""

from __future__ import annotations

import csv
import gzip
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skynet.data import DataError, read_rows

Write = Callable[[str, str | bytes], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_file(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return path

    return write_file


CSV = 'message,label\n"two\nlines",a\n\nplain,\n'
ONE = [{"message": "two\nlines", "label": "a"}, {"message": "plain", "label": ""}]


def values(path: Path) -> list[dict[str, Any]]:
    return [row.values for row in read_rows(path)]


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_csv_is_read_with_any_line_ending_and_with_or_without_a_bom(write: Write, bom: str, ending: str) -> None:
    path = write("t.csv", bom + CSV.replace("\n", ending))
    assert values(path) == [{"message": f"two{ending}lines", "label": "a"}, ONE[1]]


def test_csv_values_stay_the_strings_they_are(write: Write) -> None:
    assert values(write("t.csv", "a,b,c,d\n007, 1.50,true,null\n")) == [
        {"a": "007", "b": " 1.50", "c": "true", "d": "null"}
    ]


@pytest.mark.parametrize("name", ["t.json", "T.JSON", "t.v1.json"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_json_is_an_array_of_objects_or_one_object(write: Write, bom: str, name: str) -> None:
    assert values(write(name, bom + json.dumps(ONE, indent=2))) == ONE
    assert values(write(name, bom + json.dumps(ONE[0], indent=2))) == ONE[:1]


@pytest.mark.parametrize("name", ["t.jsonl", "t.ndjson"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_jsonl_is_one_object_a_line_and_blank_lines_are_skipped(write: Write, name: str, ending: str) -> None:
    lines = ["\ufeff", json.dumps(ONE[0]), "  ", json.dumps(ONE[1])]
    assert values(write(name, ending.join(lines))) == ONE


def test_json_strings_may_hold_what_python_calls_a_line_break(write: Write) -> None:
    row = {"m": "a\u2028b\x85c"}
    assert values(write("t.jsonl", json.dumps(row, ensure_ascii=False))) == [row]


@pytest.mark.parametrize(
    ("name", "content"), [("t.csv", CSV), ("t.json", json.dumps(ONE)), ("t.jsonl", json.dumps(ONE[0]))]
)
def test_gzip_is_read_by_name_and_by_content(write: Write, name: str, content: str) -> None:
    plain = values(write(name, content))
    packed = gzip.compress(content.encode())
    assert values(write(name + ".gz", packed)) == plain
    assert values(write(name, packed)) == plain


@pytest.mark.parametrize(
    ("name", "content", "lines"),
    [
        ("t.csv", CSV, [2, 5]),
        ("t.jsonl", '\n{"a":1}\n\n{"a":2}', [2, 4]),
        ("t.json", '[\n{"a":1},\n{"a":\n2}, {"a":3}\n]', [2, 3, 4]),
        ("t.json", '\n\n{"a":\n1}', [3]),
    ],
)
def test_each_row_knows_its_file_and_the_line_where_it_starts(
    write: Write, name: str, content: str, lines: list[int]
) -> None:
    path = write(name, content)
    assert [(row.file, row.line) for row in read_rows(path)] == [(str(path), line) for line in lines]


BAD = [
    ("t.csv", "a,b\n1,2\n3\n", "line 3: 1 cell, but the header names 2 columns"),
    (
        "t.csv",
        'a,b\n"x\ny",2\n3,4,5\n',
        "line 4: 3 cells, but the header names 2 columns; quote a cell that holds a comma",
    ),
    ("t.csv", 'a,b\n1,2\n"3,4\n5,6\n', "line 3: not valid CSV: unexpected end of data"),
    ("t.csv", 'a,b\n"x"y,2\n', "line 2: not valid CSV: "),
    ("t.csv", "a,b,a\n1,2,3\n", "line 1: two columns are called 'a'"),
    ("t.csv", b"a,b\n1,\xe9\n", "line 2: not UTF-8 (byte 0xe9); save the file as UTF-8"),
    ("t.csv", "a,b\n1,2\n".encode("utf-16"), "line 1: not UTF-8 (byte 0xff); it looks like UTF-16"),
    ("t.csv", "a,b\n", "the file holds no rows"),
    ("t.csv", "", "the file holds no rows"),
    ("t.jsonl", '{"a": 1}\n{"a": }\n', "line 2, column 7: not valid JSON: Expecting value"),
    ("t.jsonl", '{"a": 1}\n[1]\n', "line 2: an array, not an object; a .jsonl file holds one object a line"),
    ("t.jsonl", '{"a": 1}\nnull\n', "line 2: null, not an object"),
    ("t.jsonl", '{"a": 1} {"a": 2}', "line 1: more text after the object"),
    ("t.jsonl", b'{"a": 1}\n{"a": "\xff"}\n', "line 2: not UTF-8 (byte 0xff)"),
    ("t.jsonl", '{"a": ' + "9" * 5000 + "}", "line 1: JSON that cannot be read: "),
    ("t.jsonl", '{"a": 1}\n{"a": ' + "[" * 100_000, "line 2: JSON that cannot be read: "),
    ("t.jsonl", "\n \n", "the file holds no rows"),
    ("t.json", '[\n{"a": 1},\n{"a" 2}\n]', "line 3, column 6: not valid JSON: Expecting ':' delimiter"),
    ("t.json", '[\n{"a": 1},\n3\n]', "line 3: a number, not an object; each element of the array is an object"),
    ("t.json", '[\n{"a": 1}\n{"a": 2}]', "line 3: not valid JSON: a comma or the closing ] of the array is missing"),
    ("t.json", '[{"a": 1},\n]', "line 2, column 1: not valid JSON: Expecting value"),
    ("t.json", '[{"a": 1}', "line 1: not valid JSON: a comma or the closing ]"),
    ("t.json", '{"a": 1}\n{"a": 2}', "line 2: more text after the end; a .json file holds one array or one object"),
    ("t.json", '"x"', "line 1: a string, not an object; a .json file holds an array of objects, or one object"),
    ("t.json", "[ ]", "the file holds no rows"),
    ("t.json", " ", "the file holds no rows"),
    ("t.txt", "a", "name a .csv, .json, .jsonl, .parquet, .orc, .feather or .arrow file, maybe .gz"),
    ("data", "a", "name a .csv, .json, .jsonl, .parquet, .orc, .feather or .arrow file, maybe .gz"),
    ("t.csv.gz", CSV, "not gzip data, though the name says so"),
    ("t.csv.gz", gzip.compress(CSV.encode())[:-6], "damaged gzip data"),
    ("t.csv.gz", b"\x1f\x8bnothing", "damaged gzip data"),
]


@pytest.mark.parametrize(("name", "content", "said"), BAD, ids=range(len(BAD)))
def test_a_file_that_cannot_be_read_is_an_error_naming_file_and_line(
    write: Write, name: str, content: str | bytes, said: str
) -> None:
    path = write(name, content)
    with pytest.raises(DataError) as caught:
        read_rows(path)
    assert str(caught.value).startswith(str(path))
    assert said in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no\.csv: cannot be read: No such file"):
        read_rows(tmp_path / "no.csv")


def test_a_folder_in_place_of_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "d.csv").mkdir()
    with pytest.raises(DataError, match=r"d\.csv: cannot be read: Is a directory"):
        read_rows(tmp_path / "d.csv")


@pytest.mark.parametrize("name", ["t.json", "t.jsonl"])
def test_values_may_be_nested_100_levels_and_no_deeper(write: Write, name: str) -> None:
    wide: dict[str, Any] = {"a": [[] for _ in range(200)]}
    fits = '{"a": ' + "[" * 99 + "1" + "]" * 99 + "}"
    assert values(write(name, json.dumps(wide))) == [wide]
    assert len(values(write(name, fits))) == 1
    with pytest.raises(DataError, match="line 1: lists and objects nested more than 100 levels deep"):
        read_rows(write(name, fits.replace("1", "[1]")))


def test_a_cell_may_be_larger_than_the_csv_modules_own_limit(write: Write) -> None:
    limit = csv.field_size_limit()
    large = "x" * (limit + 1)
    assert values(write("t.csv", f"a\n{large}\n")) == [{"a": large}]
    assert csv.field_size_limit() == limit


def test_reading_leaves_a_read_only_folder_as_it_was(tmp_path: Path) -> None:
    folder = tmp_path / "dåta set"
    folder.mkdir()
    (folder / "t.csv").write_text(CSV, encoding="utf-8")
    os.chmod(folder / "t.csv", 0o444)
    os.chmod(folder, 0o555)
    try:
        assert values(folder / "t.csv") == ONE
        assert os.listdir(folder) == ["t.csv"]
    finally:
        os.chmod(folder, 0o755)


@pytest.mark.parametrize(
    ("name", "content", "missing"),
    [
        ("t.csv", "a,b\n,x\n", True),
        ("t.jsonl", '{"a": null}', True),
        ("t.jsonl", "{}", True),
        ("t.jsonl", '{"a": ""}', False),
    ],
)
def test_absent_null_and_an_empty_cell_are_missing_but_an_empty_json_text_is_a_value(
    write: Write, name: str, content: str, missing: bool
) -> None:
    assert read_rows(write(name, content))[0].lacks("a") is missing


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.lists(st.dictionaries(st.text(max_size=6), JSON, max_size=4), min_size=1, max_size=6)


def reread(name: str, content: bytes) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        return values(path)


@given(header=st.lists(TEXT, min_size=2, max_size=4, unique=True), rows=st.data())
def test_what_a_csv_writer_writes_is_read_back(header: list[str], rows: st.DataObject) -> None:
    cells = rows.draw(st.lists(st.lists(TEXT, min_size=len(header), max_size=len(header)), min_size=1, max_size=6))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        with path.open("w", newline="", encoding="utf-8-sig") as file:
            csv.writer(file).writerows([header, *cells])
        assert values(path) == [dict(zip(header, row, strict=True)) for row in cells]


@given(objects=OBJECTS, indent=st.sampled_from([None, 0, 2]), ascii_only=st.booleans())
def test_what_a_json_writer_writes_is_read_back(
    objects: list[dict[str, Any]], indent: int | None, ascii_only: bool
) -> None:
    text = json.dumps(objects, indent=indent, ensure_ascii=ascii_only)
    lines = "\n".join(json.dumps(one, ensure_ascii=ascii_only) for one in objects)
    assert reread("t.json", text.encode()) == objects
    assert reread("t.jsonl", lines.encode()) == objects


@given(content=st.binary(max_size=60), name=st.sampled_from(["t.csv", "t.json", "t.jsonl", "t.csv.gz"]))
def test_any_bytes_are_rows_or_a_data_error(content: bytes, name: str) -> None:
    try:
        rows = reread(name, content)
    except DataError:
        return
    assert all(isinstance(row, dict) for row in rows)
    assert rows
