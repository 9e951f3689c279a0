"""Evaluators in the toolkit's shape: `async evaluate_item(item)` over the seven fields of EvalInputItem."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from skynet.metric.numeric import NotANumber, finite
from skynet.metric.show import show
from skynet.summary.aggregate import mean_of
from skynet.typed.bounded import run_bounded
from skynet.typed.strict_json import Loose
from skynet.typed.validation import MetricError


class EvalInputItem(BaseModel):
    """One case for an evaluator. `full_dataset_entry` is None unless it was asked for."""

    model_config = ConfigDict(extra="forbid")

    id: Loose
    input_obj: Loose = None
    expected_output_obj: Loose = None
    output_obj: Loose = None
    trajectory: list[Loose] = Field(default_factory=list)
    expected_trajectory: list[Loose] = Field(default_factory=list)
    full_dataset_entry: Loose = None


class EvalOutputItem(BaseModel):
    """What an evaluator says of one case; with `error` set there is no score."""

    model_config = ConfigDict(extra="forbid")

    id: Loose
    score: Loose
    reasoning: Loose = None
    error: str | None = None


class EvalInput(BaseModel):
    """The cases of one evaluation."""

    eval_input_items: list[EvalInputItem]


class EvalOutput(BaseModel):
    """The cases' results. `average_score` is over the finite numbers without an error; None when there is none."""

    average_score: float | None
    eval_output_items: list[EvalOutputItem]


class BaseEvaluator(ABC):
    """The base that the toolkit's guide subclasses. `tqdm_desc` is kept as the evaluator's label."""

    def __init__(self, max_concurrency: int = 4, tqdm_desc: str = "Evaluating") -> None:
        self.max_concurrency = max_concurrency
        self.tqdm_desc = tqdm_desc

    @abstractmethod
    async def evaluate_item(self, item: EvalInputItem) -> EvalOutputItem:
        """Evaluate one case."""

    async def evaluate(self, eval_input: EvalInput) -> EvalOutput:
        """Evaluate every case; one that raises has the error and no score."""
        items = await run_bounded(self.max_concurrency, eval_input.eval_input_items, self._guarded)
        return EvalOutput(average_score=_average(items), eval_output_items=items)

    async def _guarded(self, item: EvalInputItem) -> EvalOutputItem:
        try:
            return await evaluated(self, item)
        except Exception as error:  # noqa: BLE001 - the evaluator's own; it stands in that case's result
            return EvalOutputItem(id=item.id, score=None, error=f"{type(error).__name__}: {error}")


async def evaluated(evaluator: Any, item: EvalInputItem) -> EvalOutputItem:
    """Run an evaluator of that shape on one case. Raises MetricError, and whatever the evaluator raises."""
    name = type(evaluator).__name__
    pending: object = evaluator.evaluate_item(item)
    if not inspect.isawaitable(pending):
        raise MetricError(f"evaluate_item of {name} is not `async def`: it returned {show(pending)}.")
    returned: Any = await pending
    if not hasattr(returned, "score"):
        message = f"evaluate_item of {name} returned {show(returned)}."
        raise MetricError(f"{message} Return EvalOutputItem(id=item.id, score=..., reasoning=...).")
    error = getattr(returned, "error", None)
    return EvalOutputItem(
        id=getattr(returned, "id", item.id),
        score=returned.score,
        reasoning=getattr(returned, "reasoning", None),
        error=str(error) if error else None,
    )


def _average(items: Sequence[EvalOutputItem]) -> float | None:
    numbers = []
    for item in items:
        if item.error is not None:
            continue
        try:
            numbers.append(finite(item.score))
        except NotANumber:
            continue  # a label, a structure or NaN has no part in an average
    return mean_of(numbers) if numbers else None
