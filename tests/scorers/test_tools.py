from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from skynet import scorers
from skynet.metric.contract import Unmeasured

ATIF = {
    "schema_version": "ATIF-v1.7",
    "steps": [
        {"source": "user", "message": "hi"},
        {"source": "agent", "tool_calls": [{"function_name": "search", "arguments": {"query": "France", "limit": 3}}]},
    ],
}
MESSAGES = [
    {"role": "user", "content": "hi"},
    {
        "role": "assistant",
        "tool_calls": [{"type": "function", "function": {"name": "search", "arguments": '{"query": "France"}'}}],
    },
]
OBJECTS = SimpleNamespace(
    steps=[SimpleNamespace(tool_calls=[SimpleNamespace(function_name="search", arguments={"query": "France"})])]
)
SHAPES = {
    "ATIF": ATIF,
    "steps": ATIF["steps"],
    "messages": MESSAGES,
    "chat": {"messages": MESSAGES},
    "calls": [{"name": "search", "arguments": {"query": "France"}}],
    "objects": OBJECTS,
}


def parts(result: scorers.Result) -> tuple[float, str]:
    assert not isinstance(result, Unmeasured)
    return result[0], result[1]["feedback"]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_call_is_found_in_every_shape_of_a_trace(shape: str) -> None:
    assert parts(scorers.tool_called(SHAPES[shape], "search", arguments={"query": "France"}))[0] == 1
    assert parts(scorers.tool_called(SHAPES[shape], "lookup"))[0] == 0


def test_other_arguments_are_not_the_call_and_the_feedback_shows_them() -> None:
    number, said = parts(scorers.tool_called(ATIF, "search", arguments={"query": "Japan"}))
    assert number == 0
    assert 'Expected a call of search with {"query": "Japan"}, got search({"query": "France", "limit": 3}).' in said


def test_every_named_tool_must_be_called() -> None:
    result = scorers.tool_called(ATIF, ["search", "book"])
    assert not isinstance(result, Unmeasured)
    assert (result[0], result[1]["scores"]) == (0, {"called": 0.5})
    assert "Expected a call of book, got search." in result[1]["feedback"]


@pytest.mark.parametrize("trace", [[], {}, {"steps": []}, "text", 3])
def test_a_trace_without_calls_scores_zero(trace: Any) -> None:
    assert parts(scorers.tool_called(trace, "search")) == (0, "Expected a call of search, got no tool call.")


def test_without_a_trace_it_is_unmeasured() -> None:
    assert isinstance(scorers.tool_called(None, "search"), Unmeasured)


def test_the_tools_must_be_names() -> None:
    with pytest.raises(scorers.ScorerError, match='must be a name such as "search"'):
        scorers.tool_called([], [])
