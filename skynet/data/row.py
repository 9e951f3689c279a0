"""One row as read, and how many rows that cannot be read a spec puts up with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from skynet.data.case import DataError


@dataclass(frozen=True, slots=True)
class Row:
    """One row as read. `line` is where it starts, from 1; in a Parquet, ORC or Arrow file it is the row's number.

    In a CSV file an empty cell is a missing value.
    """

    values: dict[str, Any]
    line: int
    file: str
    empty_is_missing: bool = False

    def lacks(self, column: str) -> bool:
        """Whether the column has no value here: absent, null, or an empty cell of a CSV file."""
        value = self.values.get(column)
        return value is None or (self.empty_is_missing and value == "")


@dataclass(slots=True)
class BadRows:
    """The rows that could not be read. `limit` is how many may be left out; the next one is an error."""

    limit: int = 0
    faults: list[str] = field(default_factory=list)

    def add(self, fault: DataError) -> None:
        """Leave a row out, or raise its fault where the limit is reached."""
        if len(self.faults) < self.limit:
            self.faults.append(str(fault))
            return
        if self.limit:
            told = f"{len(self.faults)} bad rows were left out before it, as many as data.skip_bad_rows allows"
            raise DataError(f"{fault} ({told})") from fault
        raise fault
