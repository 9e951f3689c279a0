"""Checks of a text against given words: string_check, regex, contains_any, contains_all, one_of."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

from skynet.metric.contract import Unmeasured
from skynet.metric.show import show
from skynet.scorers.difference import expected_and_got, first_difference
from skynet.scorers.result import NO_REFERENCE, Profile, Result, ScorerError, is_nemo, one_of_options, pair
from skynet.scorers.text import composed, text_of

Values: TypeAlias = str | Sequence[object]
_OPERATIONS: dict[str, tuple[str, Callable[[str, str], bool]]] = {
    "equals": ("equal to", str.__eq__),
    "==": ("equal to", str.__eq__),
    "!=": ("other than", str.__ne__),
    "<>": ("other than", str.__ne__),
    "not equals": ("other than", str.__ne__),
    "contains": ("that contains", str.__contains__),
    "not contains": ("that does not contain", lambda left, right: right not in left),
    "startswith": ("that starts with", str.startswith),
    "endswith": ("that ends with", str.endswith),
}
_COMPARED = ("equals", "==", "startswith")  # where the first difference says something
_LISTED = 8
_COMPARABLE = 200  # characters of an output that are compared with the values; finding the nearest is quadratic
_NOTHING = Unmeasured("There are no values to look for.")


def string_check(
    output: object, expected: object, *, operation: str = "equals", profile: Profile = "default"
) -> Result:
    """Score 1 when the output stands to the expected text as `operation` says, else 0. Case and spaces count."""
    nemo = is_nemo("string_check", profile)
    one_of_options("string_check", "operation", operation, _OPERATIONS)
    if expected is None:
        return NO_REFERENCE
    got, wanted = text_of(output), text_of(expected)
    relation, holds = _OPERATIONS[operation]
    passed = holds(got, wanted) if nemo else holds(composed(got), composed(wanted))
    if passed:
        return pair(1, f"Correct: {show(got)} is a text {relation} {show(wanted)}.")
    if operation in _COMPARED:
        return pair(0, f"Expected a text {relation} {show(wanted)}. {expected_and_got(wanted, got)}")
    return pair(0, f"Expected a text {relation} {show(wanted)}, got {show(got)}.")


def regex(output: object, pattern: str, *, full: bool = False, ignore_case: bool = False) -> Result:
    """Score 1 when the pattern is found in the output, or with `full` matches all of it; else 0."""
    try:
        compiled = re.compile(pattern, re.IGNORECASE if ignore_case else 0)
    except (re.error, TypeError, RecursionError, OverflowError) as error:
        raise ScorerError(f"regex: {show(pattern)} is not a pattern: {error}.") from error
    got = text_of(output)
    found = compiled.fullmatch(got) if full else compiled.search(got)
    if found is None:
        where = "does not match the whole output" if full else "is nowhere in the output"
        return pair(0, f"Expected a match of {show(pattern)}, got {show(got)}: the pattern {where}.")
    return pair(1, f"Correct: {show(pattern)} matches {show(found.group())}.")


def contains_any(output: object, values: Values, *, ignore_case: bool = False) -> Result:
    """Score 1 when at least one of the values stands in the output, else 0."""
    got, wanted = text_of(output), _texts(values)
    if not wanted:
        return _NOTHING
    found = [value for value in wanted if _holds(got, value, ignore_case)]
    if found:
        return pair(1, f"Correct: the output contains {show(found[0])}.")
    return pair(0, f"Expected one of {_listed(wanted)} in the output, got {show(got)}.")


def contains_all(output: object, values: Values, *, ignore_case: bool = False) -> Result:
    """Score 1 when every value stands in the output, else 0; the fraction that does stands in `scores` as found."""
    got, wanted = text_of(output), _texts(values)
    if not wanted:
        return _NOTHING
    missing = [value for value in wanted if not _holds(got, value, ignore_case)]
    scores = {"found": 1 - len(missing) / len(wanted)}
    if not missing:
        return pair(1, f"Correct: the output contains {_listed(wanted)}.", scores)
    return pair(0, f"Missing: {_listed(missing)}. Expected {_listed(wanted)} in the output, got {show(got)}.", scores)


def one_of(output: object, values: Values, *, ignore_case: bool = False) -> Result:
    """Score 1 when the output, without outer white space, is one of the values; else 0."""
    got, wanted = text_of(output).strip(), _texts(values)
    if not wanted:
        return _NOTHING
    if composed(got, ignore_case) in [composed(value.strip(), ignore_case) for value in wanted]:
        return pair(1, f"Correct: {show(got)}.")
    return pair(0, f"Expected one of {_listed(wanted)}, got {show(got)}.{_nearest(got, wanted)}")


def _texts(values: Values) -> list[str]:
    """Return the values as texts; one text counts as one value."""
    several = isinstance(values, list | tuple | set | frozenset)
    return [text_of(value) for value in (values if several else [values]) if value is not None]


def _holds(text: str, value: str, ignore_case: bool) -> bool:
    return composed(value, ignore_case) in composed(text, ignore_case)


def _listed(values: list[str]) -> str:
    more = f" and {len(values) - _LISTED} more" if len(values) > _LISTED else ""
    return ", ".join(show(value) for value in values[:_LISTED]) + more


def _nearest(got: str, wanted: list[str]) -> str:
    """Say how the output differs from the value that it most resembles."""
    import difflib  # only when the output is wrong

    close = difflib.get_close_matches(got[:_COMPARABLE], wanted, n=1)
    return f" Nearest is {show(close[0])}: {first_difference(close[0], got)}" if close else ""
