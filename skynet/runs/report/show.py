"""How values and figures are written for people, the same in every form of the report."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from skynet.summary.written import NOTHING, score, signed

__all__ = [
    "NOTHING", "chance", "counted", "cut", "dollars", "duration", "legible", "milliseconds", "moment", "one_line",
    "score", "shown", "signed", "spent", "whole",
]  # fmt: skip

SHOWN_CHARS = 4000  # of one text; the rest stands in report.json only

# What a reader cannot see or an encoder cannot write: controls, lone surrogates, and the marks that reorder text.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


def legible(text: str) -> str:
    """Return the text with everything invisible, reordering or not encodable written as an escape."""
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text.replace("\r\n", "\n"))


def shown(value: Any) -> str:
    """Return any value as a person reads it: a string as it is, a mapping line by line, anything else as JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return NOTHING
    if isinstance(value, Mapping) and value:
        return "\n".join(f"{key}: {_inline(item)}" for key, item in value.items())
    return _inline(value)


def cut(text: str, limit: int = SHOWN_CHARS) -> str:
    """Return the text, at most `limit` characters of it, and how many are left out."""
    return text if len(text) <= limit else f"{text[:limit]}\n... {len(text) - limit:,} more characters in report.json"


def one_line(text: str, limit: int) -> str:
    """Return the text on one line of at most `limit` characters."""
    line = " ".join(text[: 4 * limit].split())
    return line if len(line) <= limit else f"{line[: limit - 3]}..."


def chance(p: float | None) -> str:
    """Write a p value as `p = 0.012` or `p < 0.001`."""
    if p is None:
        return "no p value"
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def dollars(value: float | None) -> str:
    """Write US dollars; None is an unknown price, not a zero."""
    if value is None:
        return NOTHING
    if value <= 0:
        return "$0"
    decimals = 2 if value >= 1 else 4 if value >= 0.01 else 1 - math.floor(math.log10(value))
    return f"${value:,.{decimals}f}"


def spent(value: float | None, lower_bound: bool) -> str:
    """Write what was spent in US dollars: unknown where nothing of it is known, else maybe as the least it was."""
    if value is None:
        return "unknown"
    return f"at least {dollars(value)}" if lower_bound else dollars(value)


def moment(seconds: float | None) -> str:
    """Write a time given in seconds since 1970 as `2026-11-30 18:56:54 UTC`."""
    return NOTHING if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def milliseconds(value: float | None) -> str:
    """Write a duration given in milliseconds."""
    if value is None:
        return NOTHING
    return f"{value / 1000:,.2f} s" if value >= 1000 else f"{value:.0f} ms" if value >= 10 else f"{value:.2g} ms"


def duration(seconds: float | None) -> str:
    """Write a duration given in seconds as `2 h 5 min`, `3 min 12 s` or `4.2 s`."""
    if seconds is None:
        return NOTHING
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,} h {minutes} min" if hours else f"{minutes} min {rest} s"


def whole(value: float | None) -> str:
    """Write a count with thousands separators."""
    return NOTHING if value is None else f"{value:,.0f}"


def counted(number: int, noun: str) -> str:
    """Write `1 case`, `2 cases`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _inline(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
