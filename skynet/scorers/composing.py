"""compose: one metric out of several scorers or metrics, and a view that reduces their scores to one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from skynet.metric.contract import BadReturn, Scored, Unmeasured, validate
from skynet.metric.numeric import NotANumber, finite
from skynet.metric.show import show
from skynet.metric.signature import BadSignature, CallStyle, call_style
from skynet.scorers.on_cases import Metric, as_metric, is_scorer
from skynet.scorers.result import Result, ScorerError, one_of_options
from skynet.summary.views import MISSING, VIEWS, Missing, reduce_view

Entry: TypeAlias = Callable[..., Any] | tuple[str, Callable[..., Any]] | tuple[str, Callable[..., Any], float]
_ENTRY = 'Give a scorer, a metric, or ("name", metric) or ("name", metric, weight).'


@dataclass(frozen=True, slots=True)
class _Component:
    name: str
    function: Metric
    style: CallStyle
    weight: float | None

    def measure(self, input: Any, output: Any, expected: Any, trace: Any) -> Scored | Unmeasured:
        try:
            return validate(self.style.call(self.function, input, output, expected, trace))
        except BadReturn as fault:
            raise ScorerError(f"compose: the component {self.name!r} returned no score. {fault}") from fault


def compose(
    components: Sequence[Entry],
    view: str = "mean",
    *,
    signals: Sequence[str] | None = None,
    missing: Missing = "unmeasured",
) -> Metric:
    """Return a metric whose score is the view of the components' scores; each stands in `scores` under its name.

    A component is a scorer (it reads the only expected column; see as_metric), or any metric. One that declares a
    range, as bleu does, is scaled to 0..1. Views: single (the first signal), all (smallest), any (largest), mean,
    weighted_mean. `signals` names the components that the view reduces; left out: all. An unmeasured one makes the
    score unmeasured, or with missing="drop" or "zero" is left out or counts as 0. Raises ScorerError.
    """
    one_of_options("compose", "view", view, VIEWS)
    one_of_options("compose", "missing", missing, MISSING)
    parts = [_component(entry) for entry in components]
    _check(parts, view)
    reduced = _reduced(parts, signals)

    def score(input: Any, output: Any, expected: Any = None, *, trace: Any = None) -> Result:
        measured = {part.name: part.measure(input, output, expected, trace) for part in parts}
        values = {name: _scaled(name, one) for name, one in measured.items() if isinstance(one, Scored)}
        weights = [part.weight for part in reduced]
        value = reduce_view(view, [values.get(part.name) for part in reduced], weights=weights, missing=missing)
        feedback = "\n".join(_line(name, one, values.get(name)) for name, one in measured.items())
        if value is None:
            return Unmeasured(f"The view {view} is unmeasured.\n{feedback}")
        return value, {"feedback": feedback, "scores": _named(measured, values)}

    return score


def _component(entry: Entry) -> _Component:
    name, function, weight = _taken_apart(entry)
    if not callable(function):
        raise ScorerError(f"compose: {show(function)} is no scorer and no metric. {_ENTRY}")
    metric = as_metric(function) if is_scorer(function) else function
    if not isinstance(name, str) or not name or name == "<lambda>":
        raise ScorerError(f"compose: a component has no name. {_ENTRY}")
    try:
        style = call_style(metric)
    except BadSignature as fault:
        raise ScorerError(f"compose: the component {name!r} cannot be called as a metric. {fault}") from fault
    return _Component(name, metric, style, None if weight is None else _weight(name, weight))


def _taken_apart(entry: Any) -> tuple[Any, Any, Any]:
    if not isinstance(entry, tuple | list):
        return getattr(entry, "__name__", None), entry, None
    if len(entry) not in (2, 3):
        raise ScorerError(f"compose: a component is {show(entry)}. {_ENTRY}")
    return entry[0], entry[1], entry[2] if len(entry) == 3 else None


def _weight(name: str, weight: object) -> float:
    try:
        number = finite(weight)
    except NotANumber as fault:
        raise ScorerError(f"compose: the weight of {name!r} {fault}. It must be a number of 0 or more.") from None
    if number < 0:
        raise ScorerError(f"compose: the weight of {name!r} is {number:g}. It must be a number of 0 or more.")
    return number


def _check(parts: Sequence[_Component], view: str) -> None:
    names = [part.name for part in parts]
    if not parts:
        raise ScorerError(f"compose: there are no components. {_ENTRY}")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ScorerError(f"compose: two components are named {twice!r}. Give each its own name: (\"name\", metric).")
    weighted = [part.name for part in parts if part.weight is not None]
    if weighted and view != "weighted_mean":
        message = f"compose: {weighted[0]!r} has a weight, but the view is {view!r}."
        raise ScorerError(f'{message} Use view="weighted_mean".')


def _reduced(parts: Sequence[_Component], signals: Sequence[str] | None) -> list[_Component]:
    """Return the components that the view reduces, in the order of `signals`."""
    if signals is None:
        chosen = list(parts)
    else:
        by_name = {part.name: part for part in parts}
        named = [signals] if isinstance(signals, str) else list(signals)
        for name in named:
            one_of_options("compose", "a signal", name, by_name)
        chosen = [by_name[name] for name in named]
    if not any(part.weight is None or part.weight > 0 for part in chosen):
        raise ScorerError("compose: no signal has a weight above 0.")
    return chosen


def _scaled(name: str, one: Scored) -> float:
    """Return the score, scaled to 0..1 where the component declares its range."""
    if "range" not in one.side_info:
        return one.score
    declared = one.side_info["range"]
    try:
        low, high = (finite(bound) for bound in declared)
    except (TypeError, ValueError):  # NotANumber is a ValueError
        low = high = 0.0
    if not low < high:
        message = f"compose: the component {name!r} declares the range {show(declared)}"
        raise ScorerError(f"{message}; it must be [lowest, highest].")
    return (one.score - low) / (high - low)


def _line(name: str, one: Scored | Unmeasured, value: float | None) -> str:
    if isinstance(one, Unmeasured) or value is None:
        return f"{name} (unmeasured): {one.reason if isinstance(one, Unmeasured) else ''}"
    return f"{name} ({value:.3g}): {one.feedback}"


def _named(measured: dict[str, Scored | Unmeasured], values: dict[str, float]) -> dict[str, float]:
    """Return the components' scores, and under NAME.key what each says apart, as it came."""
    inner = {
        f"{name}.{key}": value
        for name, one in measured.items()
        if isinstance(one, Scored)
        for key, value in one.scores.items()
    }
    return {**inner, **values}
