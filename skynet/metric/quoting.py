"""A judge's reply without what it quotes, so that a word found in the rest is the judge's own."""

from __future__ import annotations

import re

QUOTED = "\ufffc"  # stands where a quotation was taken out; no word character, so it never joins words

_FENCE = re.compile(r"\s*(```|~~~)")
_STRUCK = re.compile(r"~~[^~\n]{1,400}~~")
_TAG = re.compile(r"</?[A-Za-z][\w-]{0,40}>")
_UNDERSCORES = re.compile(r"(?<!\w)_{1,3}(?=[^\W_])|(?<=[^\W_])_{1,3}(?!\w)")
_UNESCAPED = re.compile(r'(?<!\\)"')
# The lengths are bounded so that a mark left open costs no search through the whole reply.
_QUOTATIONS = (
    re.compile(r"“[^”]{0,4000}”|«[^»]{0,4000}»|„[^“”]{0,4000}[“”]"),
    re.compile(r"(?<!\w)['‘](?:[^'‘’\n]|(?<=\w)['’](?=\w)){0,1000}['’](?!\w)"),  # not an apostrophe between letters
    re.compile(r"`{1,2}[^`\n]{1,1000}`{1,2}"),
)
_STRAIGHT = re.compile(r'"(?:\\.|[^"\\]){0,4000}"', re.DOTALL)
_STRAIGHT_IN_LINE = re.compile(r'"(?:\\.|[^"\\\n]){0,4000}"')
# A quotation behind one of these names the verdict, as in `"verdict": "PASS"` or: The verdict is 'PASS'.
_LABEL = re.compile(
    r"\b(?:verdict|result|grade|decision|judge?ment|rating|conclusion|outcome|status|assessment|evaluation)"
    r"[\"'`]?\s*(?:[:=→]|is|->)\s*$",
    re.IGNORECASE,
)
_LABEL_LENGTH = 40


def without_quotations(text: str) -> str:
    """Return `text` without fenced code, block quotes, struck text, tags, emphasis marks and quoted passages.

    A reply that is one fence as a whole is taken out of it. A quotation right behind a label such as "Verdict:"
    keeps its text.
    """
    text = _without_blocks(text)
    text = _STRUCK.sub(QUOTED, text)
    text = _TAG.sub("\n", text).replace("*", "")
    text = _UNDERSCORES.sub("", text)
    balanced = len(_UNESCAPED.findall(text)) % 2 == 0
    for pattern in (_STRAIGHT if balanced else _STRAIGHT_IN_LINE, *_QUOTATIONS):
        text = pattern.sub(_taken_out, text)
    return text


def _without_blocks(text: str) -> str:
    """Return the lines outside fences and block quotes; those inside the fence when the whole reply is one."""
    outside: list[str] = []
    inside: list[str] = []
    mark = ""
    for line in text.splitlines():
        fence = _FENCE.match(line)
        if fence and mark in ("", fence.group(1)):
            mark = "" if mark else fence.group(1)
        elif not line.lstrip().startswith(">"):
            (inside if mark else outside).append(line)
    kept = outside if any(line.strip() for line in outside) else inside
    return "\n".join(kept)


def _taken_out(match: re.Match[str]) -> str:
    before = match.string[max(0, match.start() - _LABEL_LENGTH) : match.start()]
    return match.group().strip("\"'`“”‘’„«»") if _LABEL.search(before) else QUOTED
