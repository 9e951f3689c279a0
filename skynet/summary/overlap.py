"""What of the data stands in an artifact word for word: rows learnt by heart, and expected values given away."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

SHARED_WORDS = 8
RARE_SHARE = 0.02
LONG_CHARACTERS = 12

# Chinese and Japanese are written without spaces: there, each character counts as a word.
_UNSPACED = "\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")


@dataclass(frozen=True, slots=True)
class SharedRun:
    """The longest run of words that a row's column shares with the artifact; `text` is that run, in lower case."""

    case: str
    column: str
    words: int
    text: str


@dataclass(frozen=True, slots=True)
class GivenAway:
    """A rare, long expected value that stands in the artifact, with the cases that expect it."""

    column: str
    value: str
    cases: tuple[str, ...]


def shared_runs(artifact: str, rows: Iterable[tuple[str, Mapping[str, Any]]]) -> list[SharedRun]:
    """Return the rows (case, columns) that share eight or more words in a row with `artifact`, in the rows' order.

    Case, punctuation, spacing and Unicode compatibility forms do not matter. One run for each column, the longest.
    """
    known = _words(artifact)
    grams = {tuple(known[at : at + SHARED_WORDS]) for at in range(len(known) - SHARED_WORDS + 1)}
    if not grams:
        return []
    found = []
    for case, columns in rows:
        for column, value in columns.items():
            longest = max((_longest_run(_words(text), grams) for text in _texts(value)), key=len, default=[])
            if longest:
                found.append(SharedRun(case, column, len(longest), " ".join(longest)))
    return found


def values_given_away(artifact: str, rows: Iterable[tuple[str, Mapping[str, Any] | None]]) -> list[GivenAway]:
    """Return the expected values of rows (case, expected) that stand in `artifact` and are both rare and long.

    Rare: expected by under 2 % of the rows that expect anything. Long: 12 characters or more. Case, spacing and
    Unicode compatibility forms do not matter. Texts inside lists and tables count one by one.
    """
    total = 0
    written: dict[tuple[str, str], str] = {}  # as it first came
    cases: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)  # inner keys: each case once, in order
    for case, expected in rows:
        if expected is None:
            continue
        total += 1
        for column, value in expected.items():
            for text in _texts(value):
                key = (column, _folded(text))
                written.setdefault(key, text)
                cases[key][case] = None
    standing = _folded(artifact)
    openings = {standing[at : at + LONG_CHARACTERS] for at in range(len(standing))}  # spares a search for each value
    return [
        GivenAway(column, written[column, value], tuple(expecting))
        for (column, value), expecting in cases.items()
        if len(value) >= LONG_CHARACTERS
        and len(expecting) < RARE_SHARE * total
        and value[:LONG_CHARACTERS] in openings
        and _stands_in(value, standing)
    ]


def _longest_run(words: Sequence[str], grams: set[tuple[str, ...]]) -> Sequence[str]:
    longest: Sequence[str] = []
    begin = 0
    for end in range(SHARED_WORDS, len(words) + 1):
        if tuple(words[end - SHARED_WORDS : end]) not in grams:
            begin = end - SHARED_WORDS + 1
        elif end - begin > len(longest):
            longest = words[begin:end]
    return longest


def _stands_in(value: str, text: str) -> bool:
    """Whether `value` stands in `text` and neither begins nor ends inside a longer word there."""
    if value not in text:
        return False
    before = r"(?<!\w)" if _spaced_word(value[0]) else ""
    after = r"(?!\w)" if _spaced_word(value[-1]) else ""
    return re.search(before + re.escape(value) + after, text) is not None


def _spaced_word(character: str) -> bool:
    word = _WORD.fullmatch(character)
    return word is not None and re.fullmatch(f"[{_UNSPACED}]", character) is None


def _words(text: str) -> list[str]:
    return _WORD.findall(_folded(text))


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts of a column's value: itself, a number's digits, or those inside a list or table."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)
