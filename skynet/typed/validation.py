"""Checks of a typed metric: its three members, what it declares, and what it returned."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, RootModel, ValidationError

from skynet.errors import SkynetError, nearest
from skynet.metric.show import show
from skynet.typed.protocol import Metric, MetricInput, MetricOutput, MetricOutputSpec, MetricResult

_MEMBERS = ("type", "output_spec", "compute_scores")
_RIGHT = "A metric is an object with `type`, `output_spec()` and `async def compute_scores(self, input)`."
_WANTED = {
    "continuous": "a number",
    "discrete": "a whole number",
    "boolean": "true or false",
    "label": "a text",
}


class MetricError(SkynetError, ValueError):
    """A typed metric that cannot be used, or a result that is not what the metric declared."""


@dataclass(frozen=True, slots=True)
class Declared:
    """What a metric said of itself."""

    type: str
    outputs: tuple[MetricOutputSpec, ...]

    def output(self, name: str) -> MetricOutputSpec | None:
        """Return the declared output of that name, or None."""
        return next((spec for spec in self.outputs if spec.name == name), None)


def describe(metric: Metric) -> Declared:
    """Return what `metric` declares. Raises MetricError when it is not a metric."""
    if isinstance(metric, type):
        raise MetricError(f"{metric.__name__} is a class, not a metric: make an instance, {metric.__name__}(...).")
    missing = [name for name in _MEMBERS if not hasattr(metric, name)]
    if missing:
        raise MetricError(f"{_named(metric)} has no {' and no '.join(missing)}. {_RIGHT}")
    name: object = metric.type
    if not isinstance(name, str) or not name.strip():
        raise MetricError(f"The `type` of {_named(metric)} is {show(name)}. It must be a name, not blank.")
    specs: object = metric.output_spec()
    if not isinstance(specs, list | tuple) or not all(isinstance(spec, MetricOutputSpec) for spec in specs):
        message = f"output_spec() of metric {name!r} returned {show(specs)}."
        raise MetricError(f"{message} It must be a list of MetricOutputSpec.")
    if not specs:
        raise MetricError(f"output_spec() of metric {name!r} is empty. Declare at least one output.")
    doubled = _doubled(spec.name for spec in specs)
    if doubled:
        raise MetricError(f"Metric {name!r} declares {_list(doubled)} more than once.")
    return Declared(str(name), tuple(specs))


async def compute(metric: Metric, input: MetricInput) -> MetricResult:
    """Run `metric` on one trial and return its checked result. Raises MetricError, and whatever the metric raises."""
    declared = describe(metric)
    pending: object = metric.compute_scores(input)
    if not inspect.isawaitable(pending):
        message = f"compute_scores of metric {declared.type!r} is not `async def`:"
        raise MetricError(f"{message} it returned {show(pending)}.")
    returned = await pending
    if not isinstance(returned, MetricResult):
        message = f"compute_scores of metric {declared.type!r} returned {show(returned)}."
        raise MetricError(f"{message} Return MetricResult(outputs=[MetricOutput(name=..., value=...)]).")
    return validate_metric_result(returned, declared.outputs, metric=declared.type)


def validate_metric_result(
    result: MetricResult, outputs: Sequence[MetricOutputSpec], *, metric: str = ""
) -> MetricResult:
    """Return `result` with every value in its declared type. Raises MetricError naming the outputs at fault."""
    whose = f" of metric {metric!r}" if metric else ""
    specs = {spec.name: spec for spec in outputs}
    returned = [output.name for output in result.outputs]
    if doubled := _doubled(returned):
        raise MetricError(f"The result{whose} has {_list(doubled)} more than once.")
    if undeclared := [name for name in returned if name not in specs]:
        hint = nearest(undeclared[0], specs)
        raise MetricError(f"The result{whose} has {_list(undeclared)}, which output_spec() does not declare.{hint}")
    if missing := [name for name, spec in specs.items() if spec.required and name not in returned]:
        optional = "An output that cannot always be measured is declared with required=False."
        raise MetricError(f"The result{whose} lacks {_list(missing)}, declared as required. {optional}")
    values = [_coerced(specs[output.name], output.value, whose) for output in result.outputs]
    return result.model_copy(update={"outputs": values})


def _coerced(spec: MetricOutputSpec, value: Any, whose: str) -> MetricOutput:
    if value is None:
        advice = "omit it from the result" if not spec.required else "declare it with required=False and omit it"
        raise MetricError(f"Output {spec.name!r}{whose} is None. Where it cannot be measured, {advice}.")
    try:
        model = spec.value_schema.model_validate(value)
    except ValidationError as error:
        wanted = _WANTED.get(spec.kind, f"a {spec.value_schema.__name__}")
        reason = error.errors()[0]["msg"]
        raise MetricError(f"Output {spec.name!r}{whose} is {show(value)}, not {wanted}: {reason}.") from None
    return MetricOutput(name=spec.name, value=_native(model))


def _native(model: BaseModel) -> Any:
    return model.root if isinstance(model, RootModel) else model


def _doubled(names: Iterable[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]


def _list(names: Iterable[str]) -> str:
    shown = list(names)
    return f"output{'' if len(shown) == 1 else 's'} {', '.join(repr(name) for name in shown)}"


def _named(metric: object) -> str:
    return f"the object of type {type(metric).__name__}"
