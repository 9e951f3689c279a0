"""What a metric given as a Python function tells: where it is defined, and whether it asks a model."""

from __future__ import annotations

import functools
import inspect
from types import CodeType, FunctionType
from typing import Any

from skynet.metric.helpers import llm


def definition(function: object) -> tuple[str | None, int | None]:
    """Return file and line of the function's `def`; None and None for a callable that has no Python code."""
    plain = _plain(function)
    return (plain.__code__.co_filename, plain.__code__.co_firstlineno) if plain else (None, None)


def function_globals(function: object) -> dict[str, Any]:
    """Return the names of the module that the function was defined in."""
    plain = _plain(function)
    return plain.__globals__ if plain else {}


def function_uses_llm(function: object) -> bool:
    """Whether the function, or one of the Python functions it names, uses skynet's `llm`."""
    seen: set[int] = set()
    waiting: list[object] = [function]
    while waiting:
        plain = _plain(waiting.pop())
        if plain is None or id(plain) in seen:
            continue
        seen.add(id(plain))
        names = _names(plain.__code__)
        if {"skynet", "llm"} <= names:  # skynet.llm, or an import inside the function
            return True
        values = [plain.__globals__[name] for name in names if name in plain.__globals__]
        values += [value for name, value in inspect.getclosurevars(plain).nonlocals.items()]
        if any(value is llm for value in values):
            return True
        waiting += values
    return False


def _plain(function: object) -> FunctionType | None:
    """Return the Python function under partials, decorators, methods and callable instances."""
    while isinstance(function, functools.partial):
        function = function.func
    if callable(function) and not isinstance(function, type):
        function = inspect.unwrap(function)
    if not isinstance(function, FunctionType | type):
        method = function if inspect.ismethod(function) else getattr(function, "__call__", None)  # noqa: B004
        function = getattr(method, "__func__", function)
    return function if isinstance(function, FunctionType) else None


def _names(code: CodeType) -> set[str]:
    """Return the global and attribute names that the code uses, those of the functions inside it too."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _names(constant)
    return names
