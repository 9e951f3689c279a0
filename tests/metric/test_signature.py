from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

from skynet.metric.signature import BadSignature, call_style

I, O, E, T = "input", "output", "expected", "trace"  # noqa: E741


def two(a: Any, b: Any) -> Any:
    return a, b


def three(a: Any, b: Any, c: Any) -> Any:
    return a, b, c


def default(input: Any, output: Any, expected: Any = None) -> Any:
    return input, output, expected


def positional_only(a: Any, b: Any, c: Any, /) -> Any:
    return a, b, c


def four(a: Any, b: Any, c: Any, d: Any = "own") -> Any:
    return a, b, c, d


def star(*args: Any) -> Any:
    return args


def two_and_star(a: Any, b: Any, *rest: Any) -> Any:
    return (a, b, *rest)


def keyword_expected(a: Any, b: Any, *, expected: Any) -> Any:
    return a, b, expected


def keyword_expected_beside_a_third(a: Any, b: Any, c: Any = "own", *, expected: Any = None) -> Any:
    return a, b, c, expected


def star_and_keyword_expected(*args: Any, expected: Any = None) -> Any:
    return (*args, expected)


def optional_keyword(a: Any, b: Any, *, strict: bool = True) -> Any:
    return a, b, strict


def any_keywords(a: Any, b: Any, **more: Any) -> Any:
    return a, b, more


def with_trace(a: Any, b: Any, c: Any = None, trace: Any = None) -> Any:
    return a, b, c, trace


def dspy_like(a: Any, b: Any, trace: Any = None) -> Any:
    return a, b, trace


def trace_before_expected(a: Any, b: Any, trace: Any = None, wanted: Any = None) -> Any:
    return a, b, trace, wanted


def keyword_trace(a: Any, b: Any, c: Any, *, trace: Any = None) -> Any:
    return a, b, c, trace


def star_and_trace(*args: Any, trace: Any = None) -> Any:
    return (*args, trace)


async def coroutine(a: Any, b: Any, c: Any = None) -> Any:
    return a, b, c


def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **named: Any) -> Any:
        return function(*args, **named)

    return wrapper


class Judge:
    def __call__(self, input: Any, output: Any, expected: Any = None) -> Any:
        return input, output, expected

    def method(self, input: Any, output: Any) -> Any:
        return input, output

    @classmethod
    def of_class(cls, input: Any, output: Any, expected: Any) -> Any:
        return input, output, expected


class AsyncJudge:
    async def __call__(self, input: Any, output: Any) -> Any:
        return input, output


@pytest.mark.parametrize(
    ("function", "returned"),
    [
        (two, (I, O)),
        (three, (I, O, E)),
        (default, (I, O, E)),
        (positional_only, (I, O, E)),
        (four, (I, O, E, "own")),
        (star, (I, O, E)),
        (two_and_star, (I, O, E)),
        (keyword_expected, (I, O, E)),
        (keyword_expected_beside_a_third, (I, O, "own", E)),
        (star_and_keyword_expected, (I, O, E)),
        (optional_keyword, (I, O, True)),
        (any_keywords, (I, O, {})),
        (with_trace, (I, O, E, T)),
        (dspy_like, (I, O, T)),
        (trace_before_expected, (I, O, T, E)),
        (keyword_trace, (I, O, E, T)),
        (star_and_trace, (I, O, E, T)),
        (coroutine, (I, O, E)),
        (decorated(default), (I, O, E)),
        (lambda a, b: (a, b), (I, O)),
        (functools.partial(four, d="bound"), (I, O, E, "bound")),
        (functools.partial(three, "first"), ("first", I, O)),
        (functools.partial(coroutine), (I, O, E)),
        (Judge(), (I, O, E)),
        (Judge().method, (I, O)),
        (Judge.of_class, (I, O, E)),
        (AsyncJudge(), (I, O)),
    ],
)
def test_a_callable_gets_the_values_its_signature_asks_for(function: Any, returned: Any) -> None:
    assert call_style(function).call(function, I, O, E, T) == returned


def required_keyword(a: Any, b: Any, *, mode: Any) -> Any: ...
def four_required(a: Any, b: Any, c: Any, d: Any) -> Any: ...
def third_and_keyword_expected(a: Any, b: Any, c: Any, *, expected: Any) -> Any: ...
def one(a: Any) -> Any: ...
def none() -> Any: ...
def keywords_only(*, input: Any, output: Any, expected: Any) -> Any: ...
def required_trace(a: Any, b: Any, trace: Any) -> Any: ...
def first_trace(trace: Any = None, a: Any = None, b: Any = None) -> Any: ...
def required_keyword_trace(a: Any, b: Any, *, trace: Any) -> Any: ...
def trace_before_star(a: Any, b: Any, trace: Any = None, *more: Any) -> Any: ...


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (required_keyword, "requires the keyword mode"),
        (four_required, "nothing fills d"),
        (third_and_keyword_expected, "nothing fills c"),
        (one, "takes 1 by position"),
        (none, "takes 0 by position"),
        (keywords_only, "takes 0 by position"),
        (required_trace, "`trace` of `score` has no default"),
        (required_keyword_trace, "requires the keyword trace"),
        (first_trace, "`trace` of `score` stands before the values"),
        (trace_before_star, "`trace` of `score` stands before the values"),
        (Judge, r"is a class \(Judge\)"),
        (iter, "cannot be read"),
        (0.8, "is not a function: it is 0.8"),
        (None, "is not a function: it is None"),
    ],
)
def test_a_signature_outside_the_contract_is_refused(function: Any, words: str) -> None:
    with pytest.raises(BadSignature, match=words) as caught:
        call_style(function)
    assert "def score(input, output, expected=None)" in str(caught.value)
