"""Reading what a model replied: the one text that it proposes, or edits of the current one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skynet.engine.protocol import ModelReply, Rejected


def extract_proposal(reply: ModelReply) -> str:
    """Return extract_fence() of a reply, which is whole where the reply was cut behind its fence. Raises Rejected."""
    try:
        text = extract_fence(reply.text)
    except Rejected:
        if reply.cut:
            raise Rejected(reply.cut) from None
        raise
    if reply.cut and text == reply.text.strip():  # no fence says where it should have ended
        raise Rejected(reply.cut)
    return text


def extract_fence(reply: str) -> str:
    """Return the proposal in a model's reply: the one outermost code fence, or the whole reply when there is none.

    Raises Rejected when several fences stand side by side or one is never closed, since no one can know which is meant.
    """
    blocks: list[list[str]] = []
    fences: list[str] = []  # the open fences, the outermost first
    for line in reply.strip().splitlines():
        if fences and _closes(line, fences[-1]):
            fences.pop()
            if not fences:
                continue
        elif (mark := _fence_mark(line)) and (not fences or mark[0] == fences[-1][0]):
            fences.append(mark)
            if len(fences) == 1:
                blocks.append([])
                continue
        if fences:
            blocks[-1].append(line)
    if fences:
        raise Rejected("the code fence is never closed; put the whole text between one pair of fences")
    if len(blocks) > 1:
        raise Rejected(f"the reply holds {len(blocks)} code fences; put the whole text in exactly one")
    return "\n".join(blocks[0]) if blocks else reply.strip()


def _fence_mark(line: str) -> str:
    stripped = line.strip()
    for char in "`~":
        run = len(stripped) - len(stripped.lstrip(char))
        if run >= 3 and char not in stripped[run:]:
            return char * run
    return ""


def _closes(line: str, fence: str) -> bool:
    stripped = line.strip()
    return len(stripped) >= len(fence) and not stripped.strip(fence[0])


@dataclass(frozen=True, slots=True)
class Edit:
    """One search/replace edit: `search` must stand exactly once in the text."""

    search: str
    replace: str


def parse_edits(reply: str) -> list[Edit]:
    """Read blocks `<<<<<<< SEARCH` ... `=======` ... `>>>>>>> REPLACE` out of a reply; none gives an empty list."""
    edits: list[Edit] = []
    state, search, replace = "", [], []  # type: str, list[str], list[str]
    for line in reply.splitlines():
        mark = line.strip()
        if mark == "<<<<<<< SEARCH":
            state, search, replace = "search", [], []
        elif mark == "=======" and state == "search":
            state = "replace"
        elif mark == ">>>>>>> REPLACE" and state == "replace":
            edits.append(Edit("\n".join(search), "\n".join(replace)))
            state = ""
        elif state:
            (search if state == "search" else replace).append(line)
    if state:
        raise Rejected("an edit block is never closed; end each with a line '>>>>>>> REPLACE'")
    return edits


def apply_edits(text: str, edits: Sequence[Edit]) -> str:
    """Apply the edits in order. Raises Rejected naming the edit whose search text stands nowhere or more than once."""
    for number, edit in enumerate(edits, 1):
        found = text.count(edit.search) if edit.search else 0
        if found != 1:
            where = "stands nowhere in the text" if not found else f"stands {found} times in the text"
            raise Rejected(f"edit {number}: its SEARCH part {where}; copy a passage that stands there exactly once")
        text = text.replace(edit.search, edit.replace)
    return text
