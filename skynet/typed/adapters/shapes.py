"""Which tool's metric an object is, told by its methods and parameters. Stdlib only: a metric worker asks early."""

from __future__ import annotations

import inspect
from typing import Any, Literal

Tool = Literal["typed", "toolkit", "deepeval", "ragas", "autoevals", "dspy", "inspect"]

_METHODS: tuple[tuple[Tool, tuple[str, ...]], ...] = (
    ("typed", ("compute_scores", "output_spec")),
    ("toolkit", ("evaluate_item",)),
    ("ragas", ("single_turn_ascore",)),
    ("deepeval", ("measure",)),
    ("deepeval", ("a_measure",)),
    ("ragas", ("ascore",)),
    ("autoevals", ("eval", "eval_async")),
)
_GOLD, _PREDICTED = ("gold", "example"), ("pred", "prediction")


def tool_of(value: Any) -> Tool | None:
    """Return whose metric `value` is, an instance, a class or a function; None when it has no known shape."""
    return tool_by_methods(value) or _by_parameters(value)


def tool_by_methods(value: Any) -> Tool | None:
    """Return whose metric an instance or a class is by its methods alone."""
    for tool, methods in _METHODS:
        if all(callable(getattr(value, name, None)) for name in methods):
            return tool
    return None


def _by_parameters(value: Any) -> Tool | None:
    names = parameters_of(value)[:2]
    if len(names) < 2:
        return None
    if names[0] in _GOLD and names[1] in _PREDICTED:
        return "dspy"
    return "inspect" if names == ["state", "target"] else None


def parameters_of(value: Any) -> list[str]:
    """Return the parameter names of a call: of a function, of `forward`, or of `__call__`, without `self`."""
    function: Any = value
    if isinstance(value, type) or not inspect.isroutine(value):
        function = getattr(value, "forward", None) or getattr(value, "__call__", None)  # noqa: B004
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # not callable, or without a readable signature
        return []
    return names[1:] if isinstance(value, type) else names
