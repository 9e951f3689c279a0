"""Reading, mapping and splitting 200,000 rows stays within 500 MiB resident, in every format."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROWS = 200_000
MOST_MIB = 500
WORDS = ["parcel", "invoice", "refund", "late", "where", "is", "my", "order", "please", "today", "account", "card"]
READ = """
import resource, sys
from pathlib import Path
from skynet.data import load_dataset
from skynet.spec import DataSpec
path = Path(sys.argv[1])
spec = DataSpec(path=path.name, inputs=("message", "customer"), outputs=("label",))
data = load_dataset(spec, path.parent)
unit = 1024 if sys.platform == "darwin" else 1
most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 / unit
print(len(data.train) + len(data.val) + len(data.test), most)
"""


def rows() -> list[dict[str, str]]:
    return [
        {
            "message": " ".join(WORDS[(number * step) % len(WORDS)] for step in range(1, 21)) + f" {number}",
            "customer": f"c{number % 5000}",
            "label": ("billing", "shipping")[number % 2],
        }
        for number in range(ROWS)
    ]


def write(path: Path, made: list[dict[str, str]]) -> None:
    if path.suffix == ".csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(made[0]))
            writer.writeheader()
            writer.writerows(made)
    elif path.suffix == ".jsonl":
        path.write_text("\n".join(map(json.dumps, made)), encoding="utf-8")
    else:
        pa: Any = pytest.importorskip("pyarrow")
        from pyarrow import orc, parquet

        table = pa.Table.from_pylist(made)
        parquet.write_table(table, path) if path.suffix == ".parquet" else orc.write_table(table, str(path))


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "orc"])
def test_many_rows_fit_into_memory(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"rows.{kind}"
    write(path, rows())
    done = subprocess.run([sys.executable, "-c", READ, path], capture_output=True, text=True, check=True)
    count, mebibytes = done.stdout.split()
    print(f"{kind}: {count} rows, {float(mebibytes):.0f} MiB")
    assert int(count) == ROWS
    assert float(mebibytes) <= MOST_MIB
