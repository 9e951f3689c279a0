"""adapt: the metric of another tool as the `score` function of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from skynet.metric.numeric import NotANumber, finite
from skynet.metric.show import show
from skynet.typed.adapter import as_score
from skynet.typed.adapters.autoevals import ask_autoevals
from skynet.typed.adapters.columns import Columns
from skynet.typed.adapters.deepeval import ask_deepeval
from skynet.typed.adapters.dspy import ask_dspy
from skynet.typed.adapters.fresh import fresh
from skynet.typed.adapters.inspect_ai import ask_inspect
from skynet.typed.adapters.outcome import Result, Said, Terms, result_of, settled
from skynet.typed.adapters.ragas import ask_ragas
from skynet.typed.adapters.shapes import Tool, tool_of
from skynet.typed.adapters.waiting import wait_for
from skynet.typed.validation import MetricError

Adapted = Callable[..., Result]
Ask = Callable[[Any, Columns, Mapping[str, Any]], Said]
Run = Callable[[Any, Any, Any, Any, Any], Result]  # the metric, input, output, expected, trace

_ASK: dict[Tool, Ask] = {
    "deepeval": ask_deepeval,
    "ragas": ask_ragas,
    "autoevals": ask_autoevals,
    "dspy": ask_dspy,
    "inspect": ask_inspect,
}
_SHAPES = (
    "compute_scores and output_spec (typed metric), evaluate_item (agent toolkit), measure (deepeval), "
    "single_turn_ascore or ascore (ragas), eval and eval_async (autoevals), or a call with the parameters "
    "(gold, pred, trace=None) (DSPy) or (state, target) (inspect)"
)


def adapt(
    obj: Any,
    *,
    primary: str | None = None,
    lower_is_better: bool = False,
    range: tuple[float, float] | None = None,
    labels: Mapping[str, float] | None = None,
    fields: Mapping[str, str] | None = None,
    arguments: Mapping[str, Any] | None = None,
    full_dataset_entry: bool = False,
    copy: bool = True,
) -> Adapted:
    """Return `score(input, output, expected=None, *, trace=None)` that runs another tool's metric.

    obj: a metric of a known shape, or a class that needs no arguments. primary: which of several numbers is the score.
    lower_is_better: turns it round, inside `range` where given. range: (lowest, highest), declared to the run. labels:
    what a verdict in words is worth. fields: the tool's field to the column that fills it. arguments: passed on to
    each call. full_dataset_entry: for the toolkit. copy: each case gets a copy of the object. Raises MetricError.
    """
    tool = tool_of(obj)
    if tool is None:
        raise MetricError(f"adapt() knows no metric of this shape: {show(obj)}. It takes an object with {_SHAPES}.")
    metric = _instance(obj)
    terms = Terms(primary, lower_is_better, _range(range), dict(labels or {}))
    if tool in ("typed", "toolkit"):
        _refuse_others(tool, {"labels": labels, "fields": fields, "arguments": arguments})
        run = _given_the_case(metric, primary, full_dataset_entry)
    else:
        _refuse_others(tool, {"full_dataset_entry": full_dataset_entry})
        run = _given_fields(_ASK[tool], _name(metric), terms, fields or {}, arguments or {})

    def score(input: Any, output: Any, expected: Any = None, *, trace: Any = None) -> Result:
        return settled(run(fresh(metric) if copy else metric, input, output, expected, trace), expected, terms)

    score.__name__ = _name(metric)
    score.__doc__ = getattr(metric, "__doc__", None)
    return score


def _given_the_case(metric: Any, primary: str | None, full_dataset_entry: bool) -> Run:
    """Return what runs a typed metric or a toolkit's evaluator. Raises MetricError now, not on the first case."""
    as_score(metric, primary=primary, full_dataset_entry=full_dataset_entry)

    def run(mine: Any, input: Any, output: Any, expected: Any, trace: Any) -> Result:
        own = as_score(mine, primary=primary, full_dataset_entry=full_dataset_entry)
        return wait_for(own(input, output, expected, trace=trace))

    return run


def _given_fields(ask: Ask, name: str, terms: Terms, fields: Mapping[str, str], arguments: Mapping[str, Any]) -> Run:
    """Return what runs a metric that wants the case under field names of its tool."""

    def run(mine: Any, input: Any, output: Any, expected: Any, trace: Any) -> Result:
        return result_of(name, ask(mine, Columns(input, output, expected, trace, fields), arguments), terms)

    return run


def _instance(obj: Any) -> Any:
    if not isinstance(obj, type):
        return obj
    try:
        return obj()
    except TypeError as error:
        message = f"adapt({obj.__name__}): the class cannot be made without arguments ({error})"
        raise MetricError(f"{message}. Give an instance: adapt({obj.__name__}(...)).") from error


def _name(metric: Any) -> str:
    """Return the name to show: the typed metric's `type`, inspect's registered one, a function's, else the class's."""
    registered = getattr(metric, "__registry_info__", None)
    for given in (getattr(registered, "name", None), getattr(metric, "type", None), getattr(metric, "__name__", None)):
        if isinstance(given, str) and given.strip():
            return given
    return type(metric).__name__


def _range(given: object) -> tuple[float, float] | None:
    if given is None:
        return None
    try:
        low, high = (finite(bound) for bound in given)  # type: ignore[attr-defined]  # anything else is told below
    except (TypeError, ValueError, NotANumber):
        low = high = 0.0
    if not low < high:
        raise MetricError(f"range={show(given)} is no range. It must be (lowest, highest), such as (0, 5).")
    return low, high


def _refuse_others(tool: str, options: Mapping[str, object]) -> None:
    given = next((name for name, value in options.items() if value), None)
    if given == "full_dataset_entry":
        raise MetricError(f"full_dataset_entry is for an evaluator with evaluate_item; fill {tool}'s own with fields=.")
    if given is not None:
        raise MetricError(f"{given}= does not apply to a {tool} metric, which is given the whole case.")
