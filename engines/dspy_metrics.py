"""The one metric under the shapes that dspy's optimizers want. None of them scores anything: a run did that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dspy

from skynet.engine import Evaluation

from .dspy_door import Door

_EPSILON = 1e-9
Metric = Callable[..., Any]


def scalar_metric(threshold: float) -> Metric:
    """Return the metric of optimizers that want a number, and while they bootstrap (then there is a trace) a bool.

    A run is good enough to be shown from `threshold` on. A Prediction would be true whatever its score is.
    """

    def metric(example: Any, prediction: Any, trace: Any = None) -> float | bool:
        value: float = prediction._value
        return value if trace is None else prediction._evaluation.status == "ok" and value >= threshold - _EPSILON

    return metric


def feedback_metric() -> Metric:
    """Return SIMBA's metric: the score and the feedback, and nothing else that its model could read."""

    def metric(example: Any, prediction: Any) -> Any:
        return dspy.Prediction(score=prediction._value, feedback=_feedback(prediction._evaluation))

    return metric


def reflective_metric(door: Door) -> tuple[Metric, bool]:
    """Return GEPA's metric, and whether named scores drive its fronts: those that every measured case of the start has.

    GEPA asks twice about a run that it reflects on, and is told the same both times.
    """
    measured = [item.scores for item in door.start_val.values() if item.status == "ok"]
    shared = set.intersection(*(set(scores) for scores in measured)) if measured else set()
    floors = {name: min(0.0, *(scores[name] for scores in measured)) for name in sorted(shared)}

    def metric(
        example: Any, prediction: Any, trace: Any = None, pred_name: str | None = None, pred_trace: Any = None
    ) -> Any:
        evaluation: Evaluation = prediction._evaluation
        objectives = {name: evaluation.scores.get(name, floor) for name, floor in floors.items()}
        told = {"score": prediction._value, "feedback": _feedback(evaluation)}
        return dspy.Prediction(**told, **({"objective_scores": objectives} if objectives else {}))

    return metric, bool(floors)


def _feedback(evaluation: Evaluation) -> str:
    return evaluation.feedback.strip() or f"This run scored {evaluation.value:g}."
