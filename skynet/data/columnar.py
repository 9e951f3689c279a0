"""Parquet, ORC, Feather and Arrow files as rows, by pyarrow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from skynet.data.case import DataError
from skynet.data.row import Row

_BATCH = 4096  # rows that are turned into Python values at a time
_INSTALL = "pip install 'skynet-optimizer[data]'"


def read_columnar(kind: str, content: bytes, file: str) -> Iterator[Row]:
    """Yield the rows of a file whose name ends in `kind`; a row's line is its number. Raises DataError."""
    try:
        import pyarrow
    except ImportError as error:
        raise DataError(f"{file}: reading {kind} files needs pyarrow; install it with: {_INSTALL}") from error
    number = 0
    try:
        for batch in COLUMNAR[kind](pyarrow.BufferReader(content)):
            _require_unlike(batch.schema.names, file)
            for start in range(0, batch.num_rows, _BATCH):
                for values in _plain(batch.slice(start, _BATCH)).to_pylist():
                    number += 1
                    yield Row(values, number, file)
    except (pyarrow.ArrowException, OSError) as error:
        told = " ".join(str(error).split())[:300]
        raise DataError(f"{file}: damaged, or not a {kind} file: {told}") from error


def _require_unlike(names: list[str], file: str) -> None:
    for name in names:
        if names.count(name) > 1:
            raise DataError(f"{file}: two columns are called {name!r}; give each its own name")


def _plain(batch: Any) -> Any:
    """Turn nanoseconds, which Python's datetime does not have, into microseconds."""
    import pyarrow

    for at, column in enumerate(batch.schema):
        if pyarrow.types.is_timestamp(column.type) and column.type.unit == "ns":
            cast = batch.column(at).cast(pyarrow.timestamp("us", column.type.tz), safe=False)
            batch = batch.set_column(at, column.name, cast)
    return batch


def _parquet(source: Any) -> Iterator[Any]:
    from pyarrow.parquet import ParquetFile

    yield from ParquetFile(source).iter_batches(_BATCH)


def _orc(source: Any) -> Iterator[Any]:
    from pyarrow.orc import ORCFile

    stored = ORCFile(source)
    for stripe in range(stored.nstripes):
        yield stored.read_stripe(stripe)


def _arrow(source: Any) -> Iterator[Any]:
    """Yield the batches of an Arrow file, of an Arrow stream, or of a Feather file of either version."""
    from pyarrow import feather, ipc

    start = source.read(6)
    source.seek(0)
    if start == b"ARROW1":
        stored = ipc.open_file(source)
        yield from (stored.get_batch(at) for at in range(stored.num_record_batches))
    elif start.startswith(b"FEA1"):
        yield from feather.read_table(source).to_batches(_BATCH)
    else:
        yield from ipc.open_stream(source)


COLUMNAR: dict[str, Callable[[Any], Iterator[Any]]] = {
    ".parquet": _parquet,
    ".orc": _orc,
    ".feather": _arrow,
    ".arrow": _arrow,
    ".ipc": _arrow,
}
