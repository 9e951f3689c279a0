"""What is optimized: its content, the hash that names it, and the difference between two of them."""

from __future__ import annotations

import difflib
import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

Kind = Literal["text", "parts", "code", "dspy"]
Content = str | dict[str, Any]

ID_LENGTH = 12


@dataclass(frozen=True)
class Artifact:
    """One immutable content: a string for `text` and `code`, named texts for `parts`, a program's state for `dspy`."""

    kind: Kind
    content: Content

    @cached_property
    def id(self) -> str:
        """The first twelve hex digits of the SHA-256 over kind and content; equal contents have equal ids."""
        blob = json.dumps([self.kind, self.content], sort_keys=True, ensure_ascii=True, separators=(",", ":"))
        return hashlib.sha256(blob.encode("ascii")).hexdigest()[:ID_LENGTH]

    @property
    def text(self) -> str:
        """The content as a person reads it: the text itself, or each part under its name, or the state as JSON."""
        if isinstance(self.content, str):
            return self.content
        if self.kind == "parts":
            return "\n".join(f"## {name}\n{text}" for name, text in self.content.items())
        return json.dumps(self.content, indent=2, ensure_ascii=False, sort_keys=True)

    @property
    def blank(self) -> bool:
        """Whether nothing but white space stands in it."""
        if isinstance(self.content, str):
            return not self.content.strip()
        return not any(str(value).strip() for value in self.content.values())


def diff(before: Artifact, after: Artifact, names: tuple[str, str] = ("start", "best")) -> str:
    """Return the unified diff of the two contents, line by line; empty when they are equal."""
    lines = difflib.unified_diff(
        before.text.splitlines(), after.text.splitlines(), fromfile=names[0], tofile=names[1], lineterm=""
    )
    return "\n".join(lines)
