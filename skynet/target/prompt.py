"""Chat texts: role lines open turns, `{{ column }}` places an input, and every other byte stays as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from skynet.artifact import Content

ROLES = ("system", "user", "assistant")
_ROLE_LINE = re.compile(rf"^[ \t]*({'|'.join(ROLES)}):[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a chat text, its placeholders not filled in yet."""

    role: str
    text: str


def split_turns(text: str) -> list[Turn]:
    """Return the turns of a chat text. A line that is just `system:`, `user:` or `assistant:` opens one; text before
    the first is the system prompt (the Prompty convention). Blank turns are left out."""
    text = text.replace("\r\n", "\n")
    pieces = _ROLE_LINE.split(text)
    turns = [Turn("system", pieces[0].strip("\n"))]
    turns += [Turn(role, body.strip("\n")) for role, body in zip(pieces[1::2], pieces[2::2], strict=True)]
    return [turn for turn in turns if turn.text.strip()]


def turns_of(content: Content) -> list[Turn]:
    """Return the turns of a chat text, or of parts named after the roles, in the order of `ROLES`.

    In a part no line opens a turn.
    """
    if isinstance(content, str):
        return split_turns(content)
    turns = [Turn(role, content[role].strip("\n")) for role in ROLES if role in content]
    return [turn for turn in turns if turn.text.strip()]


def placeholders(text: str, columns: Sequence[str]) -> set[str]:
    """Return the input columns that the text places."""
    return {match.group(1) for match in _pattern(columns).finditer(text)} if columns else set()


def _pattern(columns: Sequence[str]) -> re.Pattern[str]:
    longest_first = sorted(columns, key=len, reverse=True)
    return re.compile(r"\{\{\s*(" + "|".join(re.escape(name) for name in longest_first) + r")\s*\}\}")


def as_text(value: Any) -> str:
    """Return a value as it stands in a prompt: a string as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def input_text(values: Mapping[str, Any]) -> str:
    """Return a whole input as one user turn: one column as its text, several as `name: value` lines in their order."""
    if len(values) == 1:
        return as_text(next(iter(values.values())))
    return "\n".join(f"{name}: {as_text(value)}" for name, value in values.items())


def render(content: Content, values: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the messages of a chat text, or of parts named after the roles, with the input filled in.

    Turns are split before inputs are placed, and in one pass, so that data can neither open a turn nor place more
    data. Where the text places no input, the input becomes the last user turn.
    """
    turns = turns_of(content)
    columns = list(values)
    if not columns:
        return [{"role": turn.role, "content": turn.text} for turn in turns]
    pattern = _pattern(columns)

    def place(match: re.Match[str]) -> str:
        return as_text(values[match.group(1)])

    messages = [{"role": turn.role, "content": pattern.sub(place, turn.text)} for turn in turns]
    if not any(pattern.search(turn.text) for turn in turns):
        messages.append({"role": "user", "content": input_text(values)})
    return messages
