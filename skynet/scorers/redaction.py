"""Takes expected values out of what a judge or an evaluator says, so that no label reaches a proposer through it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from skynet.scorers.text import text_of

REMOVED = "[expected value removed]"
_LABEL_KEYS = {
    "answer", "correct_answer", "expected", "expected_answer", "expected_output", "expected_output_obj",
    "gold", "gold_answer", "ground_truth", "reference", "reference_answer",
}  # fmt: skip
_WHOLE_WORD_BELOW = 5  # characters; a shorter value in Latin letters stands inside other words by chance


def without_expected(value: Any, expected: object) -> Any:
    """Return `value` without the expected values: in texts, as items, as keys, and under keys that name the answer.

    Upper and lower case and the kind of white space make no difference. A part of an expected value, or another
    wording of it, stays.
    """
    pattern = _pattern(expected)
    return value if pattern is None else _redacted(value, pattern)


def _redacted(value: Any, pattern: re.Pattern[str]) -> Any:
    if isinstance(value, dict):
        return {
            pattern.sub(REMOVED, text_of(key)): REMOVED if _names_the_answer(key) else _redacted(item, pattern)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple | set | frozenset):
        return [_redacted(item, pattern) for item in value]
    if isinstance(value, str):
        return pattern.sub(REMOVED, value)
    return REMOVED if value is not None and pattern.fullmatch(text_of(value)) else value


def _names_the_answer(key: object) -> bool:
    return isinstance(key, str) and re.sub(r"[\s-]+", "_", key.strip().lower()) in _LABEL_KEYS


def _pattern(expected: object) -> re.Pattern[str] | None:
    """Return what finds any expected value, the longest first; None when there is none."""
    texts = {text for leaf in _leaves(expected) for text in _spellings(leaf) if text.strip()}
    if not texts:
        return None
    return re.compile("|".join(_one(text) for text in sorted(texts, key=len, reverse=True)), re.IGNORECASE)


def _one(text: str) -> str:
    words = r"\s+".join(re.escape(word) for word in text.split())
    short = len(text.strip()) < _WHOLE_WORD_BELOW and text.isascii()
    if short or re.fullmatch(r"[-+]?[\d.,]+", text.strip()):
        return rf"(?<![\w.]){words}(?![\w]|\.\d)"
    return words


def _leaves(value: object) -> Iterator[object]:
    if isinstance(value, dict):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from _leaves(item)
    elif value is not None:
        yield value


def _spellings(leaf: object) -> Iterator[str]:
    text = text_of(leaf)
    yield text
    if isinstance(leaf, str):
        yield from (json.dumps(text)[1:-1], repr(text)[1:-1])  # as it stands inside quoted JSON or Python
    if isinstance(leaf, float) and leaf.is_integer():
        yield str(int(leaf))
    elif isinstance(leaf, int) and not isinstance(leaf, bool):
        yield f"{leaf}.0"
