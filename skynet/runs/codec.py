"""How values become text in the store."""

from __future__ import annotations

import json
from typing import Any

# ASCII only: a lone surrogate in a model's reply survives as an escape, where UTF-8 could not hold it.
_encoder = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"))


def encode(value: Any) -> str:
    """Return the value as compact ASCII JSON. Raises TypeError for what JSON has no form for."""
    return _encoder.encode(value)


def decode(text: str) -> Any:
    """Read what `encode` wrote."""
    return json.loads(text)


def plain(value: Any) -> Any:
    """Return the value for a plain column: a string that UTF-8 cannot hold gets escapes, all else stays as it is."""
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    return value
