"""How values of user code are shown: as strict JSON, as text that any terminal prints, and as short numbers."""

from __future__ import annotations

import math
import unicodedata
from decimal import Decimal
from typing import Any

DIGITS = 4  # significant ones
_MOST_DIGITS = 17  # what tells any two floats apart
_WIDEST_INT_BITS = 14_000  # Python refuses to write longer ints in decimal
_ESCAPED = frozenset({"Cc", "Cs", "Zl", "Zp"})  # control characters, lone surrogates, line and paragraph separators
_REORDERING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")  # would show text in another order


def json_ready(value: Any) -> Any:
    """Return the value in strict JSON terms: what JSON cannot hold becomes text, NaN and infinity become null."""
    if isinstance(value, dict):
        return {str(json_ready(key)): json_ready(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_ready(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int) and value.bit_length() > _WIDEST_INT_BITS:
        return hex(value)
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def printable(text: str) -> str:
    """Return the text as any terminal and any UTF-8 file can take it: surrogates and control characters escaped."""
    return "".join(char if _is_plain(char) else char.encode("unicode_escape").decode("ascii") for char in text)


def _is_plain(char: str) -> bool:
    if char.isprintable() or char in "\n\t":
        return True
    return unicodedata.category(char) not in _ESCAPED and char not in _REORDERING


def number(value: float, digits: int = DIGITS) -> str:
    """Return the number with so many significant digits, without an exponent unless it is very large or small."""
    rounded = f"{value:.{digits}g}"
    if "e" in rounded and 1e-9 <= abs(value) < 1e15:
        return f"{Decimal(rounded):f}"
    return rounded


def apart(first: float, second: float) -> tuple[str, str]:
    """Return two different numbers with as many digits as it takes to see that they differ."""
    for digits in range(DIGITS, _MOST_DIGITS):
        shown = number(first, digits), number(second, digits)
        if shown[0] != shown[1]:
            return shown
    return number(first, _MOST_DIGITS), number(second, _MOST_DIGITS)
