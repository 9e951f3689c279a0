"""Paths into a JSON reply: names and positions joined by dots, such as `choices.0.message.content`."""

from __future__ import annotations

from typing import Any


class PathMissing(Exception):
    """The reply holds nothing at the path; the text says how far it went and what stands there."""


def at_path(value: Any, path: str) -> Any:
    """Return what stands at the path. A leading `$.` is allowed. Raises PathMissing."""
    steps = [step for step in path.removeprefix("$").split(".") if step]
    for depth, step in enumerate(steps):
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.lstrip("-").isdigit() and -len(value) <= int(step) < len(value):
            value = value[int(step)]
        else:
            raise PathMissing(f"the reply has no {step!r} {_place(steps[:depth])}, which is {_described(value)}")
    return value


def _place(steps: list[str]) -> str:
    return f"at {'.'.join(steps)!r}" if steps else "at its top"


def _described(value: Any) -> str:
    if isinstance(value, dict):
        return f"an object with {', '.join(map(str, value)) or 'no keys'}"
    if isinstance(value, list):
        return f"an array of {len(value)}"
    return f"{type(value).__name__} {value!r:.60}"
