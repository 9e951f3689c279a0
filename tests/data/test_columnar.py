"""Reading rows from Parquet, ORC, Feather and Arrow files."""

from __future__ import annotations

import gzip
import subprocess
import sys
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from skynet.data import DataError, read_rows

pa = pytest.importorskip("pyarrow")

ROWS: list[dict[str, Any]] = [
    {"message": "åäö", "count": 3, "tags": ["a", "b"], "price": Decimal("1.50"), "more": {"deep": None}},
    {"message": None, "count": None, "tags": [], "price": None, "more": {"deep": 1.5}},
]


def write(path: Path, table: Any) -> Path:
    kind = path.suffixes[0]
    if kind == ".parquet":
        from pyarrow import parquet

        parquet.write_table(table, path, row_group_size=1)
    elif kind == ".orc":
        from pyarrow import orc

        orc.write_table(table, str(path))
    elif kind == ".feather":
        from pyarrow import feather

        feather.write_feather(table, path)
    else:
        opened = pa.ipc.new_file if kind == ".arrow" else pa.ipc.new_stream
        with opened(path, table.schema) as writer:
            writer.write_table(table)
    return path


KINDS = [".parquet", ".orc", ".feather", ".arrow", ".ipc"]


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_read_with_their_values_and_numbers_plain_and_gzipped(tmp_path: Path, kind: str) -> None:
    path = write(tmp_path / f"t{kind}", pa.Table.from_pylist(ROWS))
    packed = tmp_path / f"t{kind}.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    for file in (path, packed):
        rows = read_rows(file)
        assert [row.values for row in rows] == ROWS
        assert [(row.file, row.line) for row in rows] == [(str(file), 1), (str(file), 2)]
        assert rows[1].lacks("message")


def test_nanoseconds_are_cut_to_what_a_datetime_holds(tmp_path: Path) -> None:
    column = pa.array([1_700_000_000_123_456_789], pa.timestamp("ns", "UTC"))
    (row,) = read_rows(write(tmp_path / "t.parquet", pa.table({"at": column})))
    assert row.values["at"] == datetime(2023, 11, 14, 22, 13, 20, 123456, UTC)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("content", [b"", b"nothing of the kind", b"PAR1 and no more", b"ARROW1 and no more"])
def test_a_damaged_file_is_named(tmp_path: Path, kind: str, content: bytes) -> None:
    path = tmp_path / f"t{kind}"
    path.write_bytes(content)
    with pytest.raises(DataError, match=rf"t\{kind}: (damaged, or not a \{kind} file|the file holds no rows)"):
        read_rows(path)


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    with pytest.raises(DataError, match="two columns are called 'a'"):
        read_rows(write(tmp_path / "t.arrow", table))


def test_without_pyarrow_the_error_names_the_extra(tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_bytes(b"PAR1")
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from pathlib import Path; from skynet.data import read_rows, DataError\n"
        "try: read_rows(Path(sys.argv[1]))\n"
        "except DataError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "t.parquet"], capture_output=True, text=True)
    assert "needs pyarrow; install it with: pip install 'skynet-optimizer[data]'" in done.stdout
