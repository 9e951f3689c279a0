from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

import skynet
from skynet.metric.function import definition, function_globals, function_uses_llm
from skynet.metric.helpers import llm


def plain(input: Any, output: Any) -> Any:
    return 1.0, {"feedback": ""}


def asks(input: Any, output: Any) -> Any:
    return llm("x")


def asks_through_another(input: Any, output: Any) -> Any:
    return asks(input, output)


def asks_inside(input: Any, output: Any) -> Any:
    return [llm(str(one)) for one in output]


def asks_by_module(input: Any, output: Any) -> Any:
    return skynet.llm("x")


def asks_by_local_import(input: Any, output: Any) -> Any:
    from skynet import llm as ask

    return ask("x")


def recursive(input: Any, output: Any) -> Any:
    return recursive(input, output)


def closure(function: Callable[..., Any]) -> Callable[..., Any]:
    def inner(input: Any, output: Any) -> Any:
        return function("x")

    return inner


class Judge:
    def __call__(self, input: Any, output: Any) -> Any:
        return llm("x")


@pytest.mark.parametrize(
    ("function", "uses"),
    [
        (plain, False),
        (recursive, False),
        (closure(plain), False),
        (len, False),
        (asks, True),
        (asks_through_another, True),
        (asks_inside, True),
        (asks_by_module, True),
        (asks_by_local_import, True),
        (closure(llm), True),
        (functools.partial(asks), True),
        (Judge(), True),
        (Judge().__call__, True),
    ],
)
def test_a_functions_use_of_llm_is_found(function: Any, uses: bool) -> None:
    assert function_uses_llm(function) is uses


def test_a_function_is_defined_in_a_file_at_a_line() -> None:
    assert definition(functools.partial(plain)) == (__file__, plain.__code__.co_firstlineno)
    assert definition(len) == (None, None)


def test_a_functions_globals_are_its_modules_names() -> None:
    assert function_globals(plain)["plain"] is plain
    assert function_globals(len) == {}
