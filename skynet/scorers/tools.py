"""tool_called: whether the trace of a case shows a call of a tool."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from skynet.metric.contract import Unmeasured
from skynet.metric.show import show
from skynet.scorers.result import Result, ScorerError, pair

_LISTED = 8


@dataclass(frozen=True, slots=True)
class Called:
    """One call of a tool."""

    name: str
    arguments: Mapping[str, Any]


def tool_called(trace: object, tools: str | Sequence[str], *, arguments: Mapping[str, Any] | None = None) -> Result:
    """Score 1 when every tool was called, with these arguments where given; else 0. `scores`: called, the fraction.

    `trace` is the metric's own: an object with `steps` (ATIF), a list of steps, chat messages or tool calls.
    Unmeasured when it is None. Arguments that are not named may be anything.
    """
    wanted = [tools] if isinstance(tools, str) else list(tools)
    if not wanted or not all(isinstance(name, str) for name in wanted):
        message = f"tool_called: tools is {show(tools)}"
        raise ScorerError(f'{message}; it must be a name such as "search", or a list of names.')
    if trace is None:
        return Unmeasured("The target recorded no trace of this case.")
    calls = list(calls_of(trace))
    fitting = {call.name for call in calls if _fits(call, arguments or {})}
    missing = [name for name in wanted if name not in fitting]
    scores = {"called": 1 - len(missing) / len(wanted)}
    if not missing:
        return pair(1, f"Correct: called {_listed(wanted)}.", scores)
    with_arguments = f" with {_json(arguments)}" if arguments else ""
    return pair(0, f"Expected a call of {_listed(missing)}{with_arguments}, got {_got(calls, missing)}.", scores)


def _got(calls: list[Called], missing: list[str]) -> str:
    """Return the calls of the missing tools, whose arguments must differ, else the names of what was called."""
    if not calls:
        return "no tool call"
    near = [f"{call.name}({_json(call.arguments)})" for call in calls if call.name in missing]
    return _listed(near or list(dict.fromkeys(call.name for call in calls)))


def calls_of(trace: object) -> Iterator[Called]:
    """Yield the calls of a trace in order, found in the shapes that traces come in."""
    if isinstance(trace, list | tuple):
        for item in trace:
            yield from calls_of(item)
        return
    for field in ("steps", "messages", "tool_calls"):
        inner = _field(trace, field)
        if isinstance(inner, list | tuple):
            yield from calls_of(inner)
    called = _field(trace, "function") or trace  # a chat message puts the name one level deeper
    name = _field(called, "function_name") or _field(called, "name")
    has_arguments = _field(called, "arguments") is not None or _field(called, "function_name") is not None
    if isinstance(name, str) and has_arguments:
        yield Called(name, _arguments(_field(called, "arguments")))


def _field(holder: object, name: str) -> Any:
    return holder.get(name) if isinstance(holder, Mapping) else getattr(holder, name, None)


def _arguments(value: object) -> Mapping[str, Any]:
    """Return the arguments, which chat messages hold as JSON text; none when they are no object."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return value if isinstance(value, Mapping) else {}


def _fits(call: Called, arguments: Mapping[str, Any]) -> bool:
    return all(name in call.arguments and call.arguments[name] == value for name, value in arguments.items())


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more


def _json(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 200 else f"{text[:200]}..."
