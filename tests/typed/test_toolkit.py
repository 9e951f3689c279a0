from __future__ import annotations

import json
import math
from typing import Any

import pytest

from skynet.typed import BaseEvaluator, EvalInput, EvalInputItem, EvalOutputItem
from tests.typed.conftest import run


class Length(BaseEvaluator):
    """Scores an output by its length, and refuses an empty one."""

    async def evaluate_item(self, item: EvalInputItem) -> EvalOutputItem:
        if not item.output_obj:
            raise ValueError("empty")
        return EvalOutputItem(id=item.id, score=len(item.output_obj), reasoning={"length": len(item.output_obj)})


class Scores(BaseEvaluator):
    async def evaluate_item(self, item: EvalInputItem) -> EvalOutputItem:
        return EvalOutputItem(id=item.id, score=item.output_obj)


class NotAsync(BaseEvaluator):
    def evaluate_item(self, item: EvalInputItem) -> Any:
        return 1


def items(*outputs: Any) -> EvalInput:
    return EvalInput(eval_input_items=[EvalInputItem(id=i, output_obj=output) for i, output in enumerate(outputs)])


def test_an_input_item_has_seven_fields_and_no_full_entry_by_default() -> None:
    assert list(EvalInputItem.model_fields) == [
        "id", "input_obj", "expected_output_obj", "output_obj", "trajectory", "expected_trajectory",
        "full_dataset_entry",
    ]  # fmt: skip
    assert EvalInputItem(id=1).full_dataset_entry is None


def test_every_item_is_evaluated_and_one_that_raises_has_its_error_and_no_score() -> None:
    found = run(Length(2, "Evaluating length").evaluate(items("ab", "", "abcd")))
    assert [(item.id, item.score, item.error) for item in found.eval_output_items] == [
        (0, 2, None), (1, None, "ValueError: empty"), (2, 4, None)
    ]  # fmt: skip
    assert found.average_score == 3.0


@pytest.mark.parametrize(
    ("scores", "average"),
    [((1, 0), 0.5), ((True, False, True, True), 0.75), (("good", 1), 1.0), ((math.nan, 1), 1.0), (("good",), None)],
)
def test_the_average_is_over_the_finite_numbers(scores: tuple[Any, ...], average: float | None) -> None:
    assert run(Scores().evaluate(items(*scores))).average_score == average


def test_an_output_is_strict_json() -> None:
    found = run(Scores().evaluate(items(math.nan, 1)))
    assert json.loads(json.dumps(found.model_dump(mode="json"), allow_nan=False))["average_score"] == 1.0


def test_an_evaluator_that_is_not_async_is_told_so() -> None:
    [item] = run(NotAsync().evaluate(items("x"))).eval_output_items
    assert "async def" in str(item.error)
