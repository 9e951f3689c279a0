"""json_valid and json_fields: whether the output is JSON, and whether its fields hold what they should."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any, NoReturn

from skynet.metric.contract import Unmeasured
from skynet.metric.show import show
from skynet.scorers.result import NO_REFERENCE, Result, pair
from skynet.scorers.text import composed

_LONGEST_INT = 4000  # digits; Python refuses to read longer ones as int
_SHOWN_FAULTS = 5


class _NotJson(ValueError):
    """The text is not JSON; the message says why and where."""


def json_valid(output: object) -> Result:
    """Score 1 when the output is strict JSON text, without NaN and infinity, or a value that JSON can hold; else 0."""
    try:
        _parsed(output)
    except _NotJson as fault:
        return pair(0, f"Expected valid JSON, got {show(output)}: {fault}.")
    return pair(1, "Correct: the output is valid JSON.")


def json_fields(output: object, expected: object, *, keys: Sequence[str] | None = None) -> Result:
    """Score the fraction of the expected object's fields that the output has with equal values, 0 to 1.

    `keys` limits the comparison to these fields. Both sides may be JSON text. `scores`: format, 1 when the output is
    a JSON object, and fields, the fraction.
    """
    if expected is None:
        return NO_REFERENCE
    try:
        wanted = _parsed(expected)
    except _NotJson as fault:
        return Unmeasured(f"The expected value is not JSON: {fault}.")
    if not isinstance(wanted, dict):
        return Unmeasured(f"The expected value is not a JSON object: it is {show(wanted)}.")
    if keys is not None:
        wanted = {key: wanted.get(key) for key in keys}
    try:
        got = _parsed(output)
    except _NotJson as fault:
        return pair(0, f"Expected valid JSON, got {show(output)}: {fault}.", {"format": 0.0, "fields": 0.0})
    if not isinstance(got, dict):
        return pair(0, f"Expected a JSON object, got {show(got)}.", {"format": 0.0, "fields": 0.0})
    return _fields(got, wanted)


def _fields(got: dict[str, Any], wanted: dict[str, Any]) -> Result:
    faults = [fault for key in wanted if (fault := next(_differences(key, got.get(key, _ABSENT), wanted[key]), None))]
    fraction = 1 - len(faults) / len(wanted) if wanted else 1.0
    scores = {"format": 1.0, "fields": fraction}
    if not faults:
        return pair(1, "Correct: every expected field has its value.", scores)
    more = f" And {len(faults) - _SHOWN_FAULTS} more fields differ." if len(faults) > _SHOWN_FAULTS else ""
    return pair(fraction, " ".join(faults[:_SHOWN_FAULTS]) + more, scores)


_ABSENT = object()


def _differences(path: str, got: object, wanted: object) -> Iterator[str]:
    """Yield a sentence for each place where the value differs; the first one is what feedback shows."""
    if got is _ABSENT:
        yield f"Missing: {path}, expected {show(wanted)}."
    elif isinstance(wanted, dict) and isinstance(got, dict):
        for key in {**wanted, **got}:
            inner = f"{path}.{key}"
            if key in wanted:
                yield from _differences(inner, got.get(key, _ABSENT), wanted[key])
            else:
                yield f"Not expected: {inner}, which is {show(got[key])}."
    elif isinstance(wanted, list) and isinstance(got, list):
        for index, (one, other) in enumerate(zip(got, wanted, strict=False)):
            yield from _differences(f"{path}[{index}]", one, other)
        if len(got) != len(wanted):
            yield f"{path}: expected {len(wanted)} items, got {len(got)}."
    elif not _equal(got, wanted):
        yield f"{path}: expected {show(wanted)}, got {show(got)}."


def _equal(got: object, wanted: object) -> bool:
    if isinstance(got, str) and isinstance(wanted, str):
        return composed(got) == composed(wanted)
    return isinstance(got, bool) == isinstance(wanted, bool) and got == wanted  # true is not 1


def _parsed(value: object) -> Any:
    """Return the JSON value of a text, or of a value by way of JSON. Raises _NotJson."""
    try:
        text = value if isinstance(value, str) else json.dumps(value, allow_nan=False)
        return json.loads(text, parse_constant=_refuse, parse_int=_whole)
    except json.JSONDecodeError as error:
        fence = "; it stands in a code fence" if isinstance(value, str) and value.lstrip().startswith("```") else ""
        raise _NotJson(f"{error.msg} at line {error.lineno}, column {error.colno}{fence}") from None
    except RecursionError:
        raise _NotJson("it is nested too deeply") from None
    except (TypeError, ValueError) as error:
        raise _NotJson(str(error)) from None


def _refuse(name: str) -> NoReturn:
    raise _NotJson(f"{name} is not JSON")


def _whole(digits: str) -> int | Decimal:
    return int(digits) if len(digits) <= _LONGEST_INT else Decimal(digits)
