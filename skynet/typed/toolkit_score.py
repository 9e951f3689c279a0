"""An evaluator in the toolkit's shape as the `score` function of a run."""

from __future__ import annotations

import math
from typing import Any

from skynet.metric.contract import Unmeasured
from skynet.metric.numeric import NotANumber, real
from skynet.metric.show import show
from skynet.scorers.redaction import without_expected
from skynet.scorers.text import text_of
from skynet.typed.adapters.columns import only_value
from skynet.typed.strict_json import strict_json
from skynet.typed.toolkit import EvalInputItem, evaluated
from skynet.typed.trace_evidence import steps_of
from skynet.typed.typed_score import Pair, Score
from skynet.typed.validation import MetricError


def toolkit_score(evaluator: Any, *, full_dataset_entry: bool) -> Score:
    """Return the score function of an evaluator. Its reasoning is the feedback, without the expected values."""

    async def score(input: Any, output: Any, expected: Any = None, *, trace: Any = None) -> Pair | Unmeasured:
        item = EvalInputItem(
            id="case",  # `score` is not told which case it scores
            input_obj=only_value(input),
            expected_output_obj=only_value(expected),
            output_obj=output,
            trajectory=steps_of(trace),
            full_dataset_entry={**(input or {}), **(expected or {})} if full_dataset_entry else None,
        )
        result = await evaluated(evaluator, item)
        reasoning = without_expected(strict_json(result.reasoning), expected)
        if result.error is not None:
            return Unmeasured(f"The evaluator reported an error: {without_expected(result.error, expected)}")
        number = _number(evaluator, result.score)
        if not math.isfinite(number):
            return Unmeasured(f"The evaluator's score is {number}. {reasoning_text(reasoning)}".strip())
        feedback = reasoning_text(reasoning) or f"The evaluator gave no reasoning; its score is {number:g}."
        return number, {"feedback": feedback, "reasoning": reasoning}

    return score


def _number(evaluator: Any, score: object) -> float:
    try:
        return real(score)
    except NotANumber as fault:
        message = f"The score of {type(evaluator).__name__} {fault} ({show(score)})."
        raise MetricError(f"{message} As the metric of a run it must be a number, such as 0.8.") from None


def reasoning_text(reasoning: Any) -> str:
    """Return reasoning of any JSON shape as text, a dict as one line per key."""
    if reasoning is None:
        return ""
    if isinstance(reasoning, dict):
        return "\n".join(f"{key}: {text_of(item)}" for key, item in reasoning.items())
    return text_of(reasoning).strip()
