from __future__ import annotations

from typing import Any

import pytest

from skynet.typed.adapters.shapes import parameters_of, tool_by_methods, tool_of
from tests.typed.conftest import Returns


class Methods:
    """An object with the named methods."""

    def __init__(self, *names: str) -> None:
        for name in names:
            setattr(self, name, lambda *args, **kwargs: None)


class Module:
    def forward(self, example: Any, pred: Any, trace: Any = None) -> float:
        return 1.0


class Judge:
    async def __call__(self, state: Any, target: Any) -> float:
        return 1.0


@pytest.mark.parametrize(
    ("value", "tool"),
    [
        (Returns({}), "typed"),
        (Returns, "typed"),
        (Methods("evaluate_item"), "toolkit"),
        (Methods("measure", "a_measure"), "deepeval"),
        (Methods("a_measure"), "deepeval"),
        (Methods("single_turn_ascore", "ascore"), "ragas"),
        (Methods("ascore", "score"), "ragas"),
        (Methods("eval", "eval_async"), "autoevals"),
        (lambda gold, pred, trace=None: 1.0, "dspy"),
        (lambda example, pred: 1.0, "dspy"),
        (lambda gold, pred, trace, pred_name, pred_trace: 1.0, "dspy"),
        (Module(), "dspy"),
        (Module, "dspy"),
        (lambda state, target: None, "inspect"),
        (Judge(), "inspect"),
        (Judge, "inspect"),
        (Methods("eval"), None),
        (lambda input, output: 1.0, None),
        (object(), None),
        ("text", None),
    ],
)
def test_a_tool_is_told_by_methods_and_parameters(value: Any, tool: str | None) -> None:
    assert tool_of(value) == tool


def test_a_function_has_no_tool_by_its_methods() -> None:
    assert tool_by_methods(lambda gold, pred: 1.0) is None


def test_the_parameters_of_a_class_are_those_of_its_instances_call() -> None:
    assert parameters_of(Judge) == parameters_of(Judge()) == ["state", "target"]
