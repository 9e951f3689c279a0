"""The rows of everything that a data path names, with what was left out and where the files differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skynet.data.case import DataError
from skynet.data.places import Place, find_files
from skynet.data.readers import read_rows
from skynet.data.row import BadRows, Row

_NAMED = 3  # files or rows that a warning names
_TYPES = {bool: "true or false", int: "a number", float: "a number", str: "text", list: "a list", dict: "a table"}


@dataclass(frozen=True, slots=True)
class Source:
    """Rows in the files' order, and warnings of what was left out."""

    rows: list[Row]
    warnings: tuple[str, ...]


def read_source(root: Path, text: str, skip_bad_rows: int = 0) -> Source:
    """Read every file that `text` names, relative to `root`; up to `skip_bad_rows` rows are left out where bad.

    Raises DataError.
    """
    place = find_files(root, text)
    bad = BadRows(skip_bad_rows)
    rows: list[Row] = []
    for file in place.files:
        rows += read_rows(file, bad)
    return Source(rows, (*_skipped(place, text), *_left_out(bad)))


def require_alike(rows: Sequence[Row], inputs: Sequence[str], outputs: Sequence[str]) -> list[str]:
    """Raise DataError where a whole file lacks an input column that other files have.

    Returns warnings: of output columns that a file lacks, and of columns that hold another type in another file.
    """
    first: dict[str, Row] = {}
    for row in rows:
        first.setdefault(row.file, row)
    warnings: list[str] = []
    for column in (*inputs, *outputs) if len(first) > 1 else ():
        having = _kinds(rows, column)
        lacking = [row for file, row in first.items() if file not in having]
        if having and lacking:
            told = _lacks(column, next(iter(having)), lacking)
            if column in inputs:
                raise DataError(f"{told}. Rename it, or name only the files that belong together: folder#train-*.csv.")
            warnings.append(f"{told}; the cases from there have no expected value in it")
        kinds = {kind: file for file, kind in having.items() if kind}
        if len(kinds) > 1:
            told = ", ".join(f"{kind} in {Path(file).name}" for kind, file in kinds.items())
            warnings.append(f"mixed schemas: the column {column!r} is {told}")
    return warnings


def _kinds(rows: Sequence[Row], column: str) -> dict[str, str]:
    """Return the files that have the column, each with what kind of value its first one is; empty for none."""
    found: dict[str, str] = {}
    for row in rows:
        if column in row.values and not found.get(row.file):
            found[row.file] = _kind(row.values[column])
    return found


def _kind(value: Any) -> str:
    return "" if value is None else _TYPES.get(type(value), type(value).__name__)


def _lacks(column: str, having: str, lacking: Sequence[Row]) -> str:
    there = ", ".join(map(repr, lacking[0].values))
    more = f" and {len(lacking) - 1} more files" if len(lacking) > 1 else ""
    found = f"{lacking[0].file} (columns: {there}){more}"
    return f"mixed schemas: {found} has no column {column!r}, which {Path(having).name} has"


def _skipped(place: Place, text: str) -> list[str]:
    if not place.skipped:
        return []
    many = len(place.skipped)
    named = ", ".join(file.name for file in place.skipped[:_NAMED]) + (" and more" if many > _NAMED else "")
    return [f"{text}: {many} file{'s' * (many != 1)} of other kinds skipped: {named}"]


def _left_out(bad: BadRows) -> list[str]:
    if not bad.faults:
        return []
    many = len(bad.faults)
    named = "; ".join(bad.faults[:_NAMED]) + ("; and more" if many > _NAMED else "")
    return [f"{many} bad row{'s' * (many != 1)} left out, as data.skip_bad_rows allows: {named}"]
