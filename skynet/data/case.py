"""One case, and a hash of values that does not depend on the order of keys."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cached_property
from typing import Any

from skynet.errors import SkynetError


class DataError(SkynetError):
    """Data that cannot be used; the text names the file and, where there is one, the line."""


@dataclass(frozen=True)
class Case:
    """One row: `expected` is keyed by output column, None when every output is missing. `line` starts at 1."""

    id: str
    input: dict[str, Any]
    expected: dict[str, Any] | None
    file: str
    line: int

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 over input and expected; id and place in the file do not count."""
        return content_hash([self.input, self.expected])


def content_hash(value: Any) -> str:
    """Return the SHA-256 of `value` as hex; equal values of different types (1, 1.0, True) differ.

    Takes None, bool, int, float, str, bytes, list, tuple, dict, datetime, date, Decimal; raises DataError else.
    """
    try:
        text = json.dumps(_plain(value), ensure_ascii=True, separators=(",", ":"))
    except RecursionError:
        raise DataError("a value is nested too deeply to be compared with others") from None
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _plain(value: Any) -> Any:
    """Rewrite `value` for JSON. Only rewritten values become JSON objects, so that nothing else can look like them."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, dict):
        pairs = [[_plain(key), _plain(part)] for key, part in value.items()]
        return {"dict": sorted(pairs, key=lambda pair: json.dumps(pair[0]))}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, date | Decimal):  # a datetime is a date
        return {type(value).__name__: str(value)}
    raise DataError(f"a case cannot hold a {type(value).__name__}; use JSON values, bytes, dates or Decimal")
