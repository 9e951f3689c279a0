"""Text as the scorers compare it: any value as text, one spelling per character, words in scripts without spaces."""

from __future__ import annotations

import json
import re
import unicodedata
from functools import lru_cache
from typing import Any

# Compatibility forms that are the same character in another dress. Superscripts, fractions, circled and squared ones
# are not: 10² is not 102.
_SAME_CHARACTER = frozenset(
    ["<wide>", "<narrow>", "<compat>", "<font>", "<noBreak>", "<initial>", "<medial>", "<final>", "<isolated>"]
)
_MINUS = dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2212"), "-")  # hyphens, en dash, the minus sign
_INVISIBLE = dict.fromkeys(  # soft hyphen, zero-width space and joiner of words, marks of direction
    [0xAD, 0x200B, 0x200E, 0x200F, 0x2060, 0xFEFF, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
)
_UNSPACED = re.compile(
    "[\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\u1780-\u17ff"  # Myanmar, Khmer
    "\u3005-\u3007\u3021-\u3029\u3040-\u30ff\u31f0-\u31ff"  # Japanese kana and iteration marks
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"  # Han
)


def text_of(value: object) -> str:
    """Return text as it is, bytes as UTF-8, anything else as JSON; what JSON cannot hold by its `str`."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode("utf-8", "replace")
    plain = _json_ready(value)
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False, sort_keys=True)


def _json_ready(value: object) -> Any:
    if isinstance(value, dict):
        return {text_of(key): _json_ready(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json_ready(item) for item in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def composed(text: str, ignore_case: bool = False) -> str:
    """Return the text in NFC, so that é is é however it is written; with `ignore_case` also without case."""
    if ignore_case:
        text = unicodedata.normalize("NFC", text).casefold()
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def unify(text: str) -> str:
    """Return the text with one spelling per character: NFC, usual widths, `-` for minus, nothing invisible."""
    if text.isascii():
        return text
    usual = "".join(map(_usual_form, text.translate(_INVISIBLE)))
    return unicodedata.normalize("NFC", usual).translate(_MINUS)


def unify_case(text: str) -> str:
    """Return the unified text without differences of case: ß is ss, and İ is i."""
    folded = unify(text).casefold()
    return folded if folded.isascii() else unicodedata.normalize("NFC", folded.replace("i\u0307", "i"))


@lru_cache(maxsize=4096)
def _usual_form(char: str) -> str:
    form = unicodedata.decomposition(char).partition(" ")[0]
    return unicodedata.normalize("NFKC", char) if form in _SAME_CHARACTER else char


def separate(text: str) -> str:
    """Put spaces between the characters of scripts that write none between words; a mark stays with its letter."""
    if text.isascii():
        return text
    pieces: list[str] = []
    inside = False  # whether the last letter was one of such a script
    for char in text:
        if unicodedata.category(char).startswith("M"):
            pieces.append(char)
            continue
        unspaced = _UNSPACED.match(char) is not None
        pieces.append(f" {char}" if unspaced or inside else char)
        inside = unspaced
    return "".join(pieces)
