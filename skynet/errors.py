"""The base of every error that Skynet shows to its user, and the hint for a misspelt name."""

from __future__ import annotations

from collections.abc import Iterable


class SkynetError(Exception):
    """A fault that the user can mend: its text says what was wrong, where, what came back and what would be right."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return `" Did you mean 'x'?"` for the known name closest to `name`, or an empty string when none is close."""
    import difflib  # only needed when something is already wrong

    matches = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f" Did you mean {matches[0]!r}?" if matches else ""
