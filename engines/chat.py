"""A chat written as one text: its turns, its placeholders, and where demonstrations can stand in it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

ROLE_LINES = {"system:": "system", "user:": "user", "assistant:": "assistant"}


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of the chat."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Layout:
    """A chat cut where demonstrations go: `head` stands before them, `block` is what places the input.

    An empty block means that the text places no input, so the input becomes the last user turn by itself.
    """

    head: tuple[Turn, ...]
    block: tuple[Turn, ...]


def split_turns(text: str) -> list[Turn]:
    """Cut the text at its role lines; what stands before the first of them, or without any, is the system prompt."""
    role, lines = "system", []  # type: str, list[str]
    turns: list[Turn] = []
    for line in text.split("\n"):
        if opened := ROLE_LINES.get(line.strip()):
            turns.append(Turn(role, "\n".join(lines).strip("\n")))
            role, lines = opened, []
        else:
            lines.append(line)
    turns.append(Turn(role, "\n".join(lines).strip("\n")))
    return [turn for turn in turns if turn.text.strip()]


def join_turns(turns: Iterable[Turn]) -> str:
    """Write the turns with a role line above each."""
    return "\n".join(f"{turn.role}:\n{turn.text}" for turn in turns)


def opens_turn(text: str) -> bool:
    """Whether a line of the text would open a turn; wider than `split_turns`, since it guards against data."""
    return any(line.strip().lower() in ROLE_LINES for line in text.splitlines())


def placed_columns(text: str, columns: Sequence[str]) -> list[str]:
    """Return the columns whose placeholder `{{ column }}` stands in the text, in the order of `columns`."""
    return [column for column in columns if re.search(_placeholder([column]), text)]


def place(text: str, values: Mapping[str, Any]) -> str:
    """Replace the placeholders by the values, in one pass."""
    if not values:
        return text
    return re.sub(_placeholder(values), lambda match: value_text(values[match[1]]), text)


def input_text(values: Mapping[str, Any]) -> str:
    """Return an input as the user turn that it becomes where the text places none."""
    if len(values) == 1:
        return value_text(next(iter(values.values())))
    return "\n".join(f"{name}: {value_text(value)}" for name, value in values.items())


def value_text(value: Any) -> str:
    """Return a string as it is and any other value as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def find_layout(text: str, columns: Sequence[str]) -> Layout:
    """Find where demonstrations can stand. Raises ValueError saying why they cannot, and what would be right."""
    turns = split_turns(text)
    first = next((index for index, turn in enumerate(turns) if placed_columns(turn.text, columns)), len(turns))
    layout = Layout(tuple(turns[:first]), tuple(turns[first:]))
    if not layout.block:
        return layout
    if (role := layout.block[0].role) != "user":
        column = placed_columns(layout.block[0].text, columns)[0]
        raise ValueError(
            f"{{{{ {column} }}}} stands in the {role} turn, so no user turn shows the input; "
            "put it below a line 'user:', or leave it out, and the input becomes the last user turn"
        )
    if (role := layout.block[-1].role) != "user":
        raise ValueError(f"the text ends in the turn of the {role}; end it with the user turn that asks")
    return layout


def _placeholder(columns: Iterable[str]) -> str:
    names = "|".join(re.escape(column) for column in sorted(columns, key=len, reverse=True))
    return r"\{\{\s*(" + names + r")\s*\}\}"
