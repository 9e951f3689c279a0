"""What is stored of a program's run, so that a served run looks to an optimizer like the first one did.

The live run is handed on in the same stored form: an optimizer must not see more of it than a replay can show.
"""

from __future__ import annotations

from typing import Any, TypedDict

import dspy
from dspy.utils.exceptions import AdapterParseError
from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_jsonable_python

UNREADABLE = "unreadable_reply"


class Call(TypedDict):
    """One call of a predictor, by the predictor's name in the program."""

    predictor: str
    inputs: dict[str, Any]
    outputs: dict[str, Any]


class Steps(TypedDict):
    """A program's run: the fields of its prediction, and the calls of its predictors in order."""

    fields: dict[str, Any]
    calls: list[Call]


Trace = list[tuple[Any, dict[str, Any], Any]]  # dspy's: predictor, inputs, prediction


def describe_run(program: Any, trace: Trace, prediction: Any) -> Steps:
    """Return a run in plain values; calls of predictors that have no name in the program are left out."""
    names = {id(predictor): name for name, predictor in program.named_predictors()}
    calls = [
        Call(predictor=names[id(predictor)], inputs=_plain(inputs), outputs=_plain(dict(outputs.items())))
        for predictor, inputs, outputs in trace
        if id(predictor) in names
    ]
    return Steps(fields={} if prediction is None else _plain(dict(prediction.items())), calls=calls)


def recall(program: Any, steps: Steps) -> Trace:
    """Return the trace of a stored run, with this program's predictors and values of their fields' types."""
    predictors = dict(program.named_predictors())
    trace: Trace = []
    for call in steps["calls"]:
        fields = predictors[call["predictor"]].signature.fields
        inputs = {name: _typed(fields.get(name), value) for name, value in call["inputs"].items()}
        outputs = {name: _typed(fields.get(name), value) for name, value in call["outputs"].items()}
        trace.append((predictors[call["predictor"]], inputs, dspy.Prediction(**outputs)))
    return trace


def failed_call(program: Any, error: Exception, inputs: dict[str, Any]) -> Trace:
    """Return the call whose reply could not be read, which dspy leaves out of its trace; empty for other errors."""
    if not isinstance(error, AdapterParseError):
        return []
    for _, predictor in program.named_predictors():
        if predictor.signature.equals(error.signature):
            given = {name: value for name, value in inputs.items() if name in predictor.signature.input_fields}
            return [(predictor, given, dspy.Prediction(**{UNREADABLE: str(error.lm_response)}))]
    return []


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = to_jsonable_python(values, fallback=lambda value: f"<{type(value).__name__}>")
    return plain


def _typed(field: Any, value: Any) -> Any:
    if field is None or field.annotation is str:
        return value
    try:
        return TypeAdapter(field.annotation).validate_python(value)
    except ValidationError:
        return value  # a field that the model filled with something else keeps what it was
