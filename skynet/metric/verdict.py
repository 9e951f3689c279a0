"""`verdict`: what a judge model decided, read from its reply."""

from __future__ import annotations

import re

from skynet.errors import SkynetError
from skynet.metric.quoting import QUOTED, without_quotations
from skynet.metric.show import show

_CONTEXT = 160  # characters of a sentence that are looked at on each side of a word
_GAP = r"(?:\s+(?!(?:so|but|and|therefore|thus|hence|then|because)\b)[\w'’]+){0,3}"  # up to three words in between
_LABELS = r"verdict|result|grade|decision|judge?ment|rating|conclusion|outcome|status|assessment|evaluation|answer"
_NEGATED = re.compile(
    r"(?:\b(?:not|cannot|never|neither|nor|without|unable to|fails? to|failed to|instead of|rather than)|n['’]t)"
    rf"{_GAP}\s*$"
    r"|\bno(?: an?)?\s*$",
    re.IGNORECASE,
)
_REPORTED = re.compile(
    r"\b(?:says?|said|claim(?:s|ed|ing)?|states?|stated|contain(?:s|ed|ing)?|writes|wrote|written|answered|replie[sd]"
    r"|respond(?:s|ed)?|return(?:s|ed)?|outputs|mention(?:s|ed|ing)?|quot(?:es|ed|ing)|print(?:s|ed)?|includes?|reads"
    r"|declares?|asks? for|(?:begins|ends|starts) with"
    r"|to (?:say|write|answer|reply|output|return|give|respond|print|get|force)|the (?:words?|string|token|text))"
    rf"{_GAP}[\s:,]*$",
    re.IGNORECASE,
)
_SUPPOSED = re.compile(
    r"\b(?:if|whether|unless|either)\b[^,;:]*$|\b(?:would|could|might|may|to|otherwise|else)(?: have)?[\s,]*$",
    re.IGNORECASE,
)
_CONDITION = re.compile(r"\s*,?\s*(?:if|when|unless|only|means|requires|or)\b", re.IGNORECASE)
_LABELLED = re.compile(rf"(?:[:=→]|->|\b(?:{_LABELS}) (?:is|would be|remains))\W*$", re.IGNORECASE)
_OPENING = re.compile(r"\s*[:,()\[\]–—-]|\s+(?:because|since|as)\b", re.IGNORECASE)
_SENTENCE_END = re.compile(r"\n|\||[.!?;…](?=\s|$)")
_SPACES = re.compile(r"[^\S\n]+")
_NO_WORDS = re.compile(r"\W*(?:\d+\W*)?")  # also the number of a list


def verdict(text: object, passing: str = "PASS", failing: str = "FAIL") -> bool | None:
    """Return True, False, or None when `text` (a judge's reply) holds no clear verdict; so does anything but text.

    The last clear verdict counts. A word is clear where it stands alone, opens a sentence, follows a label, or is
    written in capitals as given; not inside another word, in a quotation, negated, reported, supposed, or as one of
    two choices. A negated verdict takes back an earlier one of the same word. Raises SkynetError for unusable words.
    """
    words = _words(passing, failing)
    if not isinstance(text, str):
        return None
    either = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in words.items()), re.IGNORECASE)
    negated: set[bool] = set()
    for sentence in reversed(_SENTENCE_END.split(_without_choices(_own_words(text), words))):
        matches = list(either.finditer(sentence))
        for index in range(len(matches) - 1, -1, -1):
            found = matches[index]
            passed = found.lastgroup == "passing"
            earlier_end = matches[index - 1].end() if index else 0
            before = sentence[max(earlier_end, found.start() - _CONTEXT) : found.start()]
            if _NEGATED.search(before):
                negated.add(passed)
            elif _is_clear(found, before, passing if passed else failing):
                return None if passed in negated else passed
    return None


def _words(passing: str, failing: str) -> dict[str, str]:
    """Return a pattern for each of the two, the longer first: one may hold the other."""
    given = {"passing": passing, "failing": failing}
    for name, word in given.items():
        if not isinstance(word, str) or not word.strip():
            raise SkynetError(f'`{name}` of verdict() must be a word such as "PASS"; it is {show(word)}.')
    if passing.casefold().split() == failing.casefold().split():
        raise SkynetError(f"`passing` and `failing` of verdict() are both {show(passing)}. Give two different words.")
    longest_first = sorted(given.items(), key=lambda item: len(item[1]), reverse=True)
    return {name: _pattern(word.strip()) for name, word in longest_first}


def _pattern(word: str) -> str:
    """Return a pattern for `word` as a word of its own, as it stands where runs of spaces are one space."""
    inner = " ".join(re.escape(part) for part in word.split())
    left = r"(?<!\w)(?<!\w[-'’])" if re.match(r"\w", word[0]) else ""
    right = r"(?!\w|[-'’]\w)" if re.match(r"\w", word[-1]) else ""
    return f"{left}{inner}{right}"


def _own_words(text: str) -> str:
    """Return the judge's own words; where quotation marks hold the whole reply, those inside them."""
    text = _SPACES.sub(" ", text)
    own = without_quotations(text)
    return own if own.strip(f"{QUOTED} .\n") or QUOTED not in own else text.strip("\"'`“”‘’„«». \n")


def _without_choices(text: str, words: dict[str, str]) -> str:
    """Take out "PASS or FAIL", "PASS/FAIL" and the like: the instruction said again, not an answer to it."""
    one, other = words.values()
    between = r" ?(?P<comma>,)? ?(?:or\b|and\b|vs\b\.?|/|\|)? ?"

    def judged(choice: re.Match[str]) -> str:
        before = text[max(0, choice.start() - _CONTEXT) : choice.start()]
        return choice.group() if choice["comma"] and _REPORTED.search(before) else QUOTED

    for first, second in ((one, other), (other, one)):
        text = re.sub(f"{first}{between}{second}", judged, text, flags=re.IGNORECASE)
    return text


def _is_clear(found: re.Match[str], before: str, word: str) -> bool:
    """Whether the word `found` is a verdict, by what stands around it in its sentence."""
    after = found.string[found.end() : found.end() + _CONTEXT]
    opens = _NO_WORDS.fullmatch(before) is not None
    if opens and re.search(r"\w", after) is None:
        return True
    if _REPORTED.search(before) or _SUPPOSED.search(before) or _CONDITION.match(after):
        return False
    if _LABELLED.search(before) or (opens and _OPENING.match(after)):
        return True
    return found.group() == word and word.isupper() and len(word) > 1
