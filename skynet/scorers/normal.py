"""What `exact_match` and `f1` leave out of account before they compare two texts."""

from __future__ import annotations

import re
import string
import unicodedata

from skynet.scorers.text import separate, unify_case

_ASCII_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ANY_ARTICLE = re.compile(r"\b(?:a|an|the)\b")
# An article has a word after it: the A of "vitamin A" and of "A, B" is none.
_ARTICLE = re.compile(r"(?<![^\s\"'“‘«(\[])(?:an?|the)\s+(?=[^\W_])")
_OF_A_NUMBER = re.compile(r"(?<=\d)\S(?=\d)|-(?=[^\w\s]?\.?\d)|\.(?=\d)")
_MEANINGFUL = frozenset("%#&@*/\\")  # punctuation by category, but "C#" is not "C" and "5%" not "5"
_WITHOUT_SPACE = frozenset(".'\"`´’‘“”")


def squad(text: str) -> str:
    """Return the text as the SQuAD evaluation compares it: lower case, no ASCII punctuation, no articles."""
    return " ".join(_ANY_ARTICLE.sub(" ", text.lower().translate(_ASCII_PUNCTUATION)).split())


def plain(text: str) -> str:
    """Return the text without case, punctuation and leading articles, in any script.

    Signs, decimal points and what else belongs to a number stay. A text of nothing but punctuation stays whole.
    """
    folded = unify_case(text)
    kept = " ".join(_without_punctuation(_ARTICLE.sub("", folded)).split())
    return kept or " ".join(folded.split())


def plain_words(text: str) -> list[str]:
    """Return the words of `plain(text)`; scripts without spaces give one per character."""
    return separate(plain(text)).split()


def _without_punctuation(text: str) -> str:
    numeric = {found.start() for found in _OF_A_NUMBER.finditer(text)}
    return "".join(char if index in numeric else _reduced(char) for index, char in enumerate(text))


def _reduced(char: str) -> str:
    """Return the character; nothing for quotes and full stops, a space for other punctuation."""
    if char in _WITHOUT_SPACE:
        return ""
    if char in _MEANINGFUL or not unicodedata.category(char).startswith("P"):
        return char
    return " "
