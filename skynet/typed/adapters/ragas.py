"""ragas' metrics: `single_turn_ascore(sample)`, or `ascore` with the fields as keywords."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from skynet.typed.adapters.columns import Columns, of_library, text_or_none, texts_or_none
from skynet.typed.adapters.outcome import Said
from skynet.typed.adapters.waiting import wait_for
from skynet.typed.validation import MetricError

_LISTS = ("retrieved_contexts", "reference_contexts", "multi_responses")
_OTHERS = ("retrieved_context_ids", "reference_context_ids", "rubrics")


def ask_ragas(metric: Any, case: Columns, arguments: Mapping[str, Any]) -> Said:
    """Score one case. NaN, by which ragas says "undetermined", is passed on."""
    known = _fields(case)
    if callable(getattr(metric, "single_turn_ascore", None)):
        real = of_library("ragas.dataset_schema", "SingleTurnSample")
        sample = real(**known) if real is not None else SimpleNamespace(**{**_empty(), **known})
        returned = wait_for(metric.single_turn_ascore(sample, **arguments))
    else:
        returned = wait_for(metric.ascore(**_keywords(metric, known, case, arguments)))
    value = getattr(returned, "value", returned)
    return Said(value=value, reason=getattr(returned, "reason", None))


def _fields(case: Columns) -> dict[str, Any]:
    values = {
        "user_input": text_or_none(case.question("user_input")),
        "response": text_or_none(case.answer("response")),
        "reference": text_or_none(case.reference("reference")),
        **{name: texts_or_none(case.field(name)) for name in _LISTS},
        **{name: case.field(name) for name in _OTHERS},
    }
    return {name: value for name, value in values.items() if value is not None}


def _empty() -> dict[str, Any]:
    return dict.fromkeys(("user_input", "response", "reference", *_LISTS, *_OTHERS))


def _keywords(metric: Any, known: dict[str, Any], case: Columns, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `ascore` takes. Raises MetricError when a required field has no column."""
    given: dict[str, Any] = dict(arguments)
    parameters = inspect.signature(metric.ascore).parameters
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values()):
        columns = [part for part in (case.input, case.expected) if isinstance(part, Mapping)]
        given = {**{name: value for part in columns for name, value in part.items()}, **known, **given}
    for name, one in parameters.items():
        if name in given or one.kind not in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY):
            continue
        value = known.get(name, case.field(name))
        if value is not None:
            given[name] = value
        elif one.default is one.empty:
            example = f'adapt(..., fields={{"{name}": "your column"}})'
            raise MetricError(f"{type(metric).__name__} needs {name}, and no column fills it: {example}.")
    return given
