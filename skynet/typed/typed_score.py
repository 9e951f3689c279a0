"""A typed metric as the `score` function of a run."""

from __future__ import annotations

import math
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from skynet.errors import nearest
from skynet.metric.context import current
from skynet.metric.contract import Unmeasured
from skynet.metric.numeric import NotANumber, real
from skynet.scorers.redaction import without_expected
from skynet.scorers.text import text_of
from skynet.typed.protocol import (
    NUMERIC_KINDS,
    CandidateOutput,
    DatasetRow,
    Metric,
    MetricDiagnostic,
    MetricInput,
    MetricResult,
)
from skynet.typed.strict_json import strict_json
from skynet.typed.trace_evidence import evidence_of
from skynet.typed.trials import TrialMeasurements
from skynet.typed.validation import Declared, MetricError, compute, describe

Pair = tuple[float, dict[str, Any]]
Score = Callable[..., Coroutine[Any, Any, Pair | Unmeasured]]

_CASE = "case"  # `score` is not told which case it scores


def typed_score(metric: Metric, primary: str | None) -> Score:
    """Return the score function of a typed metric. Raises MetricError when `primary` does not name the score."""
    declared = describe(metric)
    chosen = _primary(declared, primary)

    async def score(input: Any, output: Any, expected: Any = None, *, trace: Any = None) -> Pair | Unmeasured:
        result = await compute(metric, _metric_input(input, output, expected, trace))
        numbers, others = _split(declared, result)
        if chosen not in numbers:
            return Unmeasured(f"{declared.type} did not measure {chosen!r} here. {_messages(result)}".strip())
        side_info: dict[str, Any] = {"feedback": _feedback(declared, result, numbers), "scores": numbers}
        if others:
            side_info["outputs"] = others
        if details := [_plain(found, expected) for found in result.diagnostics if found.details]:
            side_info["diagnostics"] = details
        return numbers[chosen], side_info

    return score


def _primary(declared: Declared, asked: str | None) -> str:
    numeric = [spec.name for spec in declared.outputs if spec.kind in NUMERIC_KINDS]
    listed = ", ".join(repr(name) for name in numeric) or "none"
    if asked is not None and asked not in numeric:
        hint = nearest(asked, numeric)
        message = f"primary={asked!r} is no numeric output of metric {declared.type!r}"
        raise MetricError(f"{message}; it has: {listed}.{hint}")
    if asked is None and len(numeric) != 1:
        advice = "name the one that is the score with primary=" if numeric else "declare one; labels have no mean"
        raise MetricError(f"Metric {declared.type!r} has {len(numeric)} numeric outputs ({listed}): {advice}.")
    return asked or numeric[0]


def _metric_input(input: Any, output: Any, expected: Any, trace: Any) -> MetricInput:
    trial = {
        "id": _CASE, "task_id": _CASE, "status": "completed", "error": None, "metadata": {},
        "measurements": _measured().model_dump(mode="json"),
    }  # fmt: skip
    data = {
        "task": {"id": _CASE, "intent": "", "metadata": {}},
        "inputs": dict(input) if isinstance(input, Mapping) else input,
        "reference": dict(expected) if isinstance(expected, Mapping) else {} if expected is None else expected,
        "trial": trial,
    }
    candidate = CandidateOutput(
        output_text=None if output is None else text_of(output),
        response=None if isinstance(output, str) else output,
        trajectory=trace,
        evidence=evidence_of(trace),
    )
    return MetricInput(row=DatasetRow(data=data), candidate=candidate)


def _measured() -> TrialMeasurements:
    """Return what Skynet measured of the target's call; nothing where it made none."""
    call = current()
    seen = call.observation if call is not None else None
    if seen is None:
        return TrialMeasurements()
    return TrialMeasurements(
        prompt_tokens=seen.prompt_tokens,
        completion_tokens=seen.completion_tokens,
        runtime_sec=None if seen.elapsed_ms is None else seen.elapsed_ms / 1000,
        cost_usd=seen.cost_usd,
    )


def _split(declared: Declared, result: MetricResult) -> tuple[dict[str, float], dict[str, Any]]:
    """Return the finite numbers, and the labels and models as JSON. A number that is not finite is in neither."""
    numeric = {spec.name for spec in declared.outputs if spec.kind in NUMERIC_KINDS}
    numbers: dict[str, float] = {}
    others: dict[str, Any] = {}
    for found in result.outputs:
        if found.name not in numeric:
            others[found.name] = strict_json(found.value)
        elif math.isfinite(number := _number(found.value)):
            numbers[found.name] = number
    return numbers, others


def _number(value: object) -> float:
    try:
        return real(value)
    except NotANumber:  # an int beyond every float
        return math.inf


def _feedback(declared: Declared, result: MetricResult, numbers: Mapping[str, float]) -> str:
    """Return the diagnostics' messages, or else the outputs: a metric without words still says what it measured."""
    if messages := _messages(result):
        return messages
    left_out = [f"{spec.name} was not measured" for spec in declared.outputs if spec.name not in _names(result)]
    values = [f"{name} is {number:g}" for name, number in numbers.items()]
    return f"{declared.type}: {', '.join(values + left_out)}."


def _names(result: MetricResult) -> set[str]:
    return {found.name for found in result.outputs}


def _messages(result: MetricResult) -> str:
    return "\n".join(found.message.strip() for found in result.diagnostics if found.message.strip())


def _plain(found: MetricDiagnostic, expected: Any) -> dict[str, Any]:
    return {"message": found.message, "details": without_expected(strict_json(found.details), expected)}
