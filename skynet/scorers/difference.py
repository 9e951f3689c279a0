"""Feedback for a comparison of two texts: what was expected, what came, and where they part."""

from __future__ import annotations

from skynet.metric.show import show

_SHOWN = 24  # characters from the first difference on


def first_difference(expected: str, got: str) -> str:
    """Return a sentence on the first character in which the texts differ, counted from 1."""
    shorter = min(len(expected), len(got))
    at = next((index for index in range(shorter) if expected[index] != got[index]), shorter)
    if at == len(expected) == len(got):
        return "They are the same, character by character."
    return f"First difference at character {at + 1}: expected {_from(expected, at)}, got {_from(got, at)}."


def expected_and_got(expected: str, got: str, others: int = 0) -> str:
    """Return both texts, cut when long, and their first difference. `others`: how many more references there are."""
    more = f" (or one of {others} more)" if others else ""
    return f"Expected {show(expected)}{more}, got {show(got)}. {first_difference(expected, got)}"


def _from(text: str, at: int) -> str:
    return repr(text[at : at + _SHOWN]) if at < len(text) else "the end of the text"
