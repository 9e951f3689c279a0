"""One case as another tool wants it: looked up by that tool's own field names."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from skynet.errors import nearest
from skynet.scorers.text import text_of
from skynet.typed.validation import MetricError


@dataclass(frozen=True, slots=True)
class Columns:
    """The values of one case. `fields` maps a tool's field name to the column that fills it."""

    input: Any
    output: Any
    expected: Any
    trace: Any
    fields: Mapping[str, str]

    def field(self, name: str) -> Any:
        """Return what fills the tool's field: the column that `fields` names, else the column of that name, or None.

        Raises MetricError when `fields` names a column that the case does not have.
        """
        column = self.fields.get(name)
        if column is None:
            return next((columns[name] for columns in self._places() if name in columns), None)
        for columns in (*self._places(), self._wholes()):
            if column in columns:
                return columns[column]
        if self.expected is None:  # it may be an expected column, which this case lacks
            return None
        known = [key for columns in (*self._places(), self._wholes()) for key in columns]
        listed = ", ".join(map(repr, dict.fromkeys(known)))
        raise MetricError(
            f"fields={{{name!r}: {column!r}}} names no column; there are {listed}.{nearest(column, known)}"
        )

    def question(self, name: str) -> Any:
        """Return the field, else the only input column, else all of them."""
        found = self.field(name)
        return only_value(self.input) if found is None else found

    def answer(self, name: str) -> Any:
        """Return the field where the output is a dict that has it, else the output."""
        if name in self.fields:
            return self.field(name)
        return self.output[name] if isinstance(self.output, Mapping) and name in self.output else self.output

    def reference(self, name: str) -> Any:
        """Return the field, else the only expected column, else all of them; None without an expected value."""
        found = self.field(name)
        return only_value(self.expected) if found is None else found

    def _places(self) -> Iterator[Mapping[str, Any]]:
        return (columns for columns in (self.output, self.expected, self.input) if isinstance(columns, Mapping))

    def _wholes(self) -> dict[str, Any]:
        return {"input": self.input, "output": self.output, "expected": self.expected, "trace": self.trace}


def only_value(columns: Any) -> Any:
    """Return the value of the only column, else the columns as they are."""
    return next(iter(columns.values())) if isinstance(columns, Mapping) and len(columns) == 1 else columns


def text_or_none(value: Any) -> str | None:
    """Return the value as text; None stays."""
    return None if value is None else text_of(value)


def texts_or_none(value: Any) -> list[str] | None:
    """Return a list of texts, one text as a list of its own; None stays."""
    if value is None:
        return None
    return [text_of(item) for item in value] if isinstance(value, list | tuple) else [text_of(value)]


def of_library(module: str, name: str) -> Any:
    """Return a name of a library that the user's code has imported already, else None."""
    return getattr(import_module(module), name) if module.partition(".")[0] in sys.modules else None
