"""The rows of a calibration: an output, what it was made from, and what people said of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from skynet.data.case import DataError
from skynet.data.readers import read_rows
from skynet.data.row import Row
from skynet.errors import nearest
from skynet.spec import DataSpec


@dataclass(frozen=True, slots=True)
class LabelledRow:
    """One output with each person's label by column; a label is None where the person gave none."""

    id: str
    output: Any
    input: dict[str, Any]
    expected: dict[str, Any] | None
    labels: Mapping[str, str | None]
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Columns:
    """What the columns of the file are. None: as the project's data names them, where the file has them; without a
    project's inputs every column that has no other use."""

    labels: Sequence[str]
    output: str = "output"
    inputs: Sequence[str] | None = None
    expected: Sequence[str] | None = None

    def named(self) -> list[str]:
        """Return the columns that must be there."""
        return [self.output, *self.labels, *(self.inputs or ()), *(self.expected or ())]

    def filled(self, there: Sequence[str], data: DataSpec | None) -> Columns:
        """Return them with nothing left out."""
        taken = {self.output, *self.labels}
        known = [] if data is None else [name for name in data.outputs if name in there and name not in taken]
        expected = known if self.expected is None else self.expected
        rest = [name for name in there if name not in {*taken, *expected}]
        inputs = self.inputs
        if inputs is None:
            inputs = [name for name in rest if data is not None and name in data.inputs] or rest
        return replace(self, inputs=inputs, expected=expected)


def read_labelled(
    path: Path, columns: Columns, data: DataSpec | None = None, threshold: float | None = None
) -> list[LabelledRow]:
    """Read the rows that have an output and at least one label.

    With `threshold` the labels are numbers, and become pass (the threshold or more) and fail. Raises DataError naming
    a missing column, or the line of a bad label.
    """
    rows = read_rows(path)
    there = list(dict.fromkeys(column for row in rows for column in row.values))
    for column in columns.named():
        if column not in there:
            hint = nearest(column, there)
            raise DataError(f"{path}: there is no column {column!r}; there are {_listed(there)}.{hint}")
    use = columns.filled(there, data)
    found = []
    for number, row in enumerate(rows, 1):
        labels = {name: None if row.lacks(name) else _label(row, name, threshold) for name in use.labels}
        if not row.lacks(use.output) and any(labels.values()):
            given = {name: row.values[name] for name in use.expected or () if not row.lacks(name)}
            shown = {name: row.values.get(name) for name in use.inputs or ()}
            found.append(
                LabelledRow(str(number), row.values[use.output], shown, given or None, labels, row.file, row.line)
            )
    if not found:
        raise DataError(f"{path}: no row has both an output in {use.output!r} and a label in {_listed(use.labels)}")
    return found


def label_of(value: object) -> str:
    """Return a label as it is compared: without case and outer space; true and false are pass and fail."""
    if isinstance(value, bool):
        return "pass" if value else "fail"
    return " ".join(str(value).split()).casefold()


def _label(row: Row, column: str, threshold: float | None) -> str:
    value = row.values[column]
    if threshold is None:
        return label_of(value)
    try:
        number = float(value)
    except (TypeError, ValueError):
        where = f"{row.file}, line {row.line}"
        raise DataError(f"{where}: with a threshold the labels in {column!r} are numbers; this is {value!r}") from None
    return by_threshold(number, threshold)


def by_threshold(number: float, threshold: float) -> str:
    """Return pass for the threshold or more, else fail."""
    return "pass" if number >= threshold else "fail"


def _listed(columns: Sequence[str]) -> str:
    return ", ".join(map(repr, columns))
