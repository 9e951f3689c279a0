"""exact_match and f1: equality and shared words, after what does not matter is left out."""

from __future__ import annotations

from collections import Counter

from skynet.metric.show import show
from skynet.scorers.difference import expected_and_got
from skynet.scorers.normal import plain, plain_words, squad
from skynet.scorers.result import NO_REFERENCE, Pair, Profile, Result, best, is_nemo, pair, references
from skynet.scorers.text import text_of

_NAMED = 8  # missing or surplus words that the feedback names


def exact_match(output: object, expected: object, *, profile: Profile = "default") -> Result:
    """Score 1 when the output equals the expected text, or one of several; else 0.

    Case, punctuation, articles and white space do not count; signs and decimal points do.
    """
    normal = squad if is_nemo("exact_match", profile) else plain
    got, right = text_of(output), references(expected, output)
    if not right:
        return NO_REFERENCE
    if any(normal(got) == normal(reference) for reference in right):
        return pair(1, f"Correct: {show(got)}.")
    return pair(0, expected_and_got(right[0], got, len(right) - 1))


def f1(output: object, expected: object, *, profile: Profile = "default") -> Result:
    """Score the words shared with the expected text, 0 to 1: the harmonic mean of precision and recall.

    Of several expected texts the closest counts. Scripts without spaces are compared by character.
    """
    nemo = is_nemo("f1", profile)
    got, right = text_of(output), references(expected, output)
    if not right:
        return NO_REFERENCE
    return best([_f1(got, reference, nemo) for reference in right])


def _f1(got: str, expected: str, nemo: bool) -> Pair:
    found, wanted = (Counter(squad(text).split() if nemo else plain_words(text)) for text in (got, expected))
    if not found and not wanted:
        return pair(1, f"Correct: {show(got)}.", {"precision": 1.0, "recall": 1.0})
    shared = (found & wanted).total()
    if not shared:
        return pair(0, f"No word in common. {expected_and_got(expected, got)}", {"precision": 0.0, "recall": 0.0})
    precision, recall = shared / found.total(), shared / wanted.total()
    score = 2 * precision * recall / (precision + recall)
    scores = {"precision": precision, "recall": recall}
    if found == wanted:
        return pair(score, f"Correct: {show(got)}.", scores)
    words = f"{_words('Missing', wanted - found)}{_words('Not expected', found - wanted)}"
    return pair(score, f"{words}{expected_and_got(expected, got)}", scores)


def _words(label: str, words: Counter[str]) -> str:
    if not words:
        return ""
    more = f" and {len(words) - _NAMED} more" if len(words) > _NAMED else ""
    return f"{label}: {', '.join(show(word) for word in list(words)[:_NAMED])}{more}. "
