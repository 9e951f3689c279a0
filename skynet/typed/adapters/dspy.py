"""DSPy metrics: `metric(gold, pred, trace=None)`, which returns a number, a bool, or a Prediction with feedback."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

from skynet.metric.show import show
from skynet.typed.adapters.columns import Columns, of_library
from skynet.typed.adapters.outcome import Said
from skynet.typed.adapters.waiting import wait_for
from skynet.typed.validation import MetricError


class Fields(Mapping[str, Any]):
    """Stands in for dspy.Example and dspy.Prediction in a process without dspy: fields by attribute and by key."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = dict(values)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._values:
            raise AttributeError(f"there is no field {name!r}; there are {', '.join(self._values)}")
        return self._values[name]

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def ask_dspy(metric: Any, case: Columns, arguments: Mapping[str, Any]) -> Said:
    """Score one case, with `trace` None as in an evaluation."""
    known = _mapping(case.input) | _mapping(case.expected)
    gold = known | {name: case.field(name) for name, column in case.fields.items() if column != "output"}
    returned = metric(_example(gold, case), _prediction(case), **_nones(metric, arguments), **arguments)
    if inspect.iscoroutine(returned):
        returned = wait_for(returned)
    return _said(returned)


def _mapping(columns: Any) -> dict[str, Any]:
    return dict(columns) if isinstance(columns, Mapping) else {}


def _example(values: dict[str, Any], case: Columns) -> Any:
    real = of_library("dspy", "Example")
    return Fields(values) if real is None else real(**values).with_inputs(*_mapping(case.input))


def _prediction(case: Columns) -> Any:
    """Return the output under the names that the metric may ask for: its own, or those of the expected columns."""
    values = _mapping(case.output)
    if not values:
        expected = _mapping(case.expected)
        renamed = [name for name, column in case.fields.items() if column == "output" or column in expected]
        values = dict.fromkeys(["output", *expected, *renamed], case.output)
    real = of_library("dspy", "Prediction")
    return Fields(values) if real is None else real(**values)


def _nones(metric: Any, arguments: Mapping[str, Any]) -> dict[str, None]:
    """Return None for each parameter behind gold and pred that has no default: trace, pred_name, pred_trace."""
    function = getattr(metric, "forward", metric)
    later = list(inspect.signature(function).parameters.values())[2:]
    plain = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {
        one.name: None for one in later if one.kind in plain and one.default is one.empty and one.name not in arguments
    }


def _said(returned: Any) -> Said:
    values = _fields_of(returned)
    if values is None:
        return Said(value=returned)
    if "score" not in values:
        raise MetricError(f"The DSPy metric returned {show(returned)}, which has no `score`.")
    numbers = {name: value for name, value in values.items() if name != "score" and isinstance(value, int | float)}
    return Said(value=values["score"], reason=values.get("feedback"), scores=numbers)


def _fields_of(returned: Any) -> dict[str, Any] | None:
    """Return the fields of a Prediction or a dict; None for a plain number."""
    if isinstance(returned, Mapping):
        return dict(returned)
    items = getattr(returned, "items", None)
    return dict(items()) if callable(items) else None
