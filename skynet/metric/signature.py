"""How `score` wants to be called, read once from its signature."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from skynet.errors import SkynetError
from skynet.metric.show import show

_RIGHT = "Write it as: def score(input, output, expected=None)."
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_WANTED = 3  # input, output, expected


class BadSignature(SkynetError):
    """`score` cannot be called by the contract; the text says why and what would be right."""


@dataclass(frozen=True, slots=True)
class CallStyle:
    """How many values go by position, and which go by name (`expected`'s own name, and `trace`)."""

    positionals: int
    expected_name: str | None
    trace: bool
    is_async: bool

    def call(self, function: Callable[..., Any], input: Any, output: Any, expected: Any, trace: Any = None) -> Any:
        """Call `function` and return what it returned; `async def` is run to its end."""
        named: dict[str, Any] = {}
        if self.expected_name is not None:
            named[self.expected_name] = expected
        if self.trace:
            named["trace"] = trace
        returned = function(*(input, output, expected)[: self.positionals], **named)
        if not self.is_async:
            return returned
        import asyncio  # 30 ms that a plain function need not pay

        return asyncio.run(returned)


def call_style(function: object) -> CallStyle:
    """Return how to call `function`. Raises BadSignature."""
    parameters = _parameters(function)
    positional = [parameter for parameter in parameters if parameter.kind in _POSITIONAL]
    named = {parameter.name: parameter for parameter in parameters if parameter.kind is inspect.Parameter.KEYWORD_ONLY}
    starred = any(parameter.kind is inspect.Parameter.VAR_POSITIONAL for parameter in parameters)
    trace_at = _trace_position(positional, starred)
    values = [parameter for index, parameter in enumerate(positional) if index != trace_at]
    _check_counts(values, named, starred)

    by_position = _WANTED if starred else min(len(values), _WANTED)
    expected_name: str | None = None
    if "expected" in named:
        by_position, expected_name = 2, "expected"
    elif trace_at is not None and by_position == _WANTED and trace_at < _WANTED:
        by_position, expected_name = 2, values[2].name  # it stands behind `trace`, so its position is taken
    takes_trace = trace_at is not None or "trace" in named
    return CallStyle(by_position, expected_name, takes_trace, _is_async(function))


def _parameters(function: object) -> list[inspect.Parameter]:
    if isinstance(function, type):
        raise BadSignature(f"`score` is a class ({function.__name__}), which returns no score when called. {_RIGHT}")
    if not callable(function):
        raise BadSignature(f"`score` is not a function: it is {show(function)}. {_RIGHT}")
    try:
        return list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError):
        raise BadSignature(f"The parameters of `score` cannot be read: it is {show(function)}. {_RIGHT}") from None


def _trace_position(positional: list[inspect.Parameter], starred: bool) -> int | None:
    """Return where an optional `trace` stands among the positional parameters, or None. It takes none of the values."""
    for index, parameter in enumerate(positional):
        if parameter.name != "trace" or parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
            continue
        if parameter.default is inspect.Parameter.empty:
            raise BadSignature(f"`trace` of `score` has no default. Make it trace=None. {_RIGHT}")
        if index < 2 or starred:
            raise BadSignature(f"`trace` of `score` stands before the values. Make it the last: trace=None. {_RIGHT}")
        return index
    return None


def _check_counts(values: list[inspect.Parameter], named: dict[str, inspect.Parameter], starred: bool) -> None:
    if len(values) < 2 and not starred:
        raise BadSignature(f"`score` takes {len(values)} by position; it must take at least input and output. {_RIGHT}")
    room = 2 if "expected" in named else _WANTED
    required = [parameter.name for parameter in values if parameter.default is inspect.Parameter.empty]
    if len(required) > room:
        extra = ", ".join(required[room:])
        message = f"`score` requires {len(required)} by position, and nothing fills {extra}. Give it a default."
        raise BadSignature(f"{message} {_RIGHT}")
    for name, parameter in named.items():
        if name != "expected" and parameter.default is inspect.Parameter.empty:
            raise BadSignature(f"`score` requires the keyword {name}, which nothing fills. Give it a default. {_RIGHT}")


def _is_async(function: object) -> bool:
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004
