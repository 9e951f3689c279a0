"""From rows to cases: which columns are input, which are expected, what the id is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from skynet.data.case import Case, DataError
from skynet.data.row import Row
from skynet.errors import nearest

if TYPE_CHECKING:
    from skynet.spec import DataSpec


def to_cases(rows: Sequence[Row], spec: DataSpec, prefix: str = "") -> list[Case]:
    """Map rows to cases. An id is the value of `[data] id`, else `prefix` and the row's number, from 1.

    A missing output among present ones is kept: as an empty text in CSV, as None in JSON.
    """
    cases = []
    for number, row in enumerate(rows, start=1):
        for column in spec.inputs:
            _require(row, column, "inputs")
        name = f"{prefix}{number}" if spec.id is None else _id(row, spec.id)
        inputs = {column: row.values[column] for column in spec.inputs}
        cases.append(Case(name, inputs, _expected(row, spec.outputs), row.file, row.line))
    return cases


def require_known(rows: Sequence[Row], columns: Iterable[str], key: str) -> None:
    """Raise DataError for a column that no row has. Some rows may lack it, but all of them only by mistake."""
    known = dict.fromkeys(column for row in rows for column in row.values)
    for column in columns:
        if column not in known:
            raise DataError(f"{rows[0].file}: {_no_column(column, key, known)}")


def require_unique_ids(cases: Iterable[Case], id_column: str) -> None:
    """Raise DataError naming both places when two cases share an id."""
    seen: dict[str, Case] = {}
    for case in cases:
        first = seen.setdefault(case.id, case)
        if first is not case:
            before = f"the id {case.id!r} was already used in {first.file}, line {first.line}"
            raise DataError(f"{case.file}, line {case.line}: {before}; ids from {id_column!r} must all differ")


def cell(row: Row, column: str, key: str) -> Any:
    """Return the value of a column that every row must fill; `key` is the spec's key that names the column."""
    _require(row, column, key)
    if row.lacks(column):
        raise DataError(f"{row.file}, line {row.line}: no value in {column!r}, which data.{key} names; fill it in")
    return row.values[column]


def _require(row: Row, column: str, key: str) -> None:
    if column not in row.values:
        place = f"{row.file}, line {row.line}"
        advice = "" if row.empty_is_missing else " Write null where a row has no value."
        raise DataError(f"{place}: {_no_column(column, key, row.values)}{advice}")


def _no_column(column: str, key: str, known: Iterable[str]) -> str:
    names = list(known)
    foreign = [mark for mark in (";", "\t") if len(names) == 1 and mark in names[0]]
    advice = f" A CSV file separates columns with commas, this one seems to use {foreign[0]!r}." if foreign else ""
    listed = ", ".join(repr(name) for name in names)
    return f"no column {column!r}, which data.{key} names.{nearest(column, names)} Columns here: {listed}.{advice}"


def _id(row: Row, column: str) -> str:
    value = cell(row, column, "id")
    if isinstance(value, bool) or not isinstance(value, str | int):
        place = f"{row.file}, line {row.line}"
        raise DataError(f"{place}: the id in {column!r} is {value!r}; an id is a text or a whole number")
    return str(value)


def _expected(row: Row, outputs: Sequence[str]) -> dict[str, Any] | None:
    if all(row.lacks(column) for column in outputs):
        return None
    return {column: row.values.get(column) for column in outputs}
