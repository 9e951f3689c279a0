"""Several files as one source: order, what is left out, mixed schemas, bad rows."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from skynet.data import DataError, load_dataset
from skynet.data.row import Row
from skynet.data.sources import read_source, require_alike
from skynet.spec import DataSpec

Write = Callable[[dict[str, str | bytes]], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_files(files: dict[str, str | bytes]) -> Path:
        for name, content in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return tmp_path

    return write_files


def test_files_are_joined_in_sorted_order_and_others_counted(write: Write) -> None:
    root = write({"d/b.csv": "m\n2\n", "d/a.jsonl": '{"m": "1"}\n', "d/c.json": '{"m": "3"}', "d/x.md": "", "d/y": ""})
    source = read_source(root, "d")
    assert [(row.values["m"], Path(row.file).name) for row in source.rows] == [
        ("1", "a.jsonl"),
        ("2", "b.csv"),
        ("3", "c.json"),
    ]
    assert source.warnings == ("d: 2 files of other kinds skipped: x.md, y",)


BAD = {
    "t.csv": b"m,n\n1,2\n3\n4,\xff\n5,6\n",
    "t.jsonl": b'{"m": "1"}\n{"m": \n{"m": "\xff"}\n{"m": "5"}\n',
    "t.json": b'[{"m": "1"},\n3,\nnull,\n{"m": "5"}]',
}


@pytest.mark.parametrize("name", BAD)
def test_bad_rows_are_left_out_up_to_the_number_allowed(write: Write, name: str) -> None:
    root = write({name: BAD[name]})
    source = read_source(root, name, 2)
    assert [row.values["m"] for row in source.rows] == ["1", "5"]
    (warning,) = source.warnings
    assert warning.startswith(f"2 bad rows left out, as data.skip_bad_rows allows: {root / name}, line ")


@pytest.mark.parametrize("name", BAD)
def test_one_bad_row_too_many_stops_with_file_and_line(write: Write, name: str) -> None:
    root = write({name: BAD[name]})
    with pytest.raises(DataError, match=rf"{name}, line \d: .*1 bad rows were left out before it"):
        read_source(root, name, 1)
    with pytest.raises(DataError, match=rf"{name}, line \d"):
        read_source(root, name)


def test_the_number_holds_for_all_files_together(write: Write) -> None:
    root = write({"d/a.csv": "m,n\n1\n2,3\n", "d/b.csv": "m,n\n1\n2,3\n"})
    assert len(read_source(root, "d", 2).rows) == 2
    with pytest.raises(DataError, match=r"b\.csv, line 2"):
        read_source(root, "d", 1)


@pytest.mark.parametrize(
    "content", [b'[{"m": 1}, {"m" 2}]', b"a,\xff\n1,2\n", "m\n1\n".encode("utf-16"), b'm,n\n1,2\n"3,4\n']
)
def test_what_hides_where_the_next_row_begins_is_always_an_error(write: Write, content: bytes) -> None:
    name = "t.json" if content.startswith(b"[") else "t.csv"
    with pytest.raises(DataError):
        read_source(write({name: content}), name, 10)


def test_a_file_without_an_input_column_is_explained(write: Write) -> None:
    root = write({"d/a.csv": "m,label\n1,x\n", "d/b.csv": "text,label\n2,y\n"})
    says = "b.csv (columns: 'text', 'label') has no column 'm', which a.csv has. Rename it, or name only the files"
    with pytest.raises(DataError, match=re.escape(says)):
        load_dataset(DataSpec(path="d", inputs=("m",), outputs=("label",)), root)


def test_a_file_without_an_output_column_or_of_another_type_is_a_warning() -> None:
    rows = [Row({"m": "1", "label": "x"}, 1, "a.csv"), Row({"m": 2}, 1, "b.jsonl")]
    assert require_alike(rows, ["m"], ["label"]) == [
        "mixed schemas: the column 'm' is text in a.csv, a number in b.jsonl",
        "mixed schemas: b.jsonl (columns: 'm') has no column 'label', which a.csv has; "
        "the cases from there have no expected value in it",
    ]


def test_a_data_set_carries_the_warnings_and_numbers_its_cases_over_all_files(write: Write) -> None:
    rows = "".join(f"{number},x\n" for number in range(5))
    root = write({"d/a.csv": f"m,label\n{rows}", "d/b.csv": f"m,label\n{rows}bad\n", "d/x.txt": ""})
    data = load_dataset(DataSpec(path="d", inputs=("m",), outputs=("label",), skip_bad_rows=1), root)
    assert {case.id for case in (*data.train, *data.val, *data.test)} == {str(number) for number in range(1, 11)}
    assert [text.partition(":")[0] for text in data.warnings[:2]] == [
        "d",
        "1 bad row left out, as data.skip_bad_rows allows",
    ]
