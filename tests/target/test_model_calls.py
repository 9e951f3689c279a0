from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from skynet.engine import RunStop
from skynet.models.calls import Scope
from skynet.target.model_calls import ModelCalls
from skynet.workers.clock import CallClock
from tests.loopback import ModelServer, status
from tests.target.conftest import MakeGateway

HELLO = {
    "messages": [{"role": "user", "content": "hello there"}],
    "schema": None,
    "temperature": None,
    "max_tokens": None,
}


def calls(
    make_gateway: MakeGateway, role: Any = "task", cancel: threading.Event | None = None, **gateway: Any
) -> ModelCalls:
    return ModelCalls(make_gateway(**gateway), role, Scope("c1", "v1"), 10, cancel)


def test_without_a_call_nothing_was_spent(make_gateway: MakeGateway) -> None:
    assert calls(make_gateway).totals() == {
        "cost_usd": 0.0, "model_calls": 0, "prompt_tokens": 0, "completion_tokens": 0
    }  # fmt: skip


def test_answered_calls_add_up(make_gateway: MakeGateway, model_server: ModelServer) -> None:
    model_server.reply = "one two three"
    made = calls(make_gateway)
    assert [made.answer(HELLO, CallClock())["text"] for _ in range(2)] == ["one two three"] * 2
    assert made.totals() == {"cost_usd": 16.0, "model_calls": 2, "prompt_tokens": 4, "completion_tokens": 6}


def test_one_unpriced_call_makes_the_cost_unknown(make_gateway: MakeGateway, model_server: ModelServer) -> None:
    made = calls(make_gateway)
    made.answer(HELLO, CallClock())
    model_server.usage = None
    made.answer(HELLO, CallClock())
    assert made.totals()["cost_usd"] is None


def test_the_options_of_llm_reach_the_model(make_gateway: MakeGateway, model_server: ModelServer) -> None:
    request = {**HELLO, "schema": {"type": "object"}, "temperature": 0.25, "max_tokens": 7}
    calls(make_gateway).answer(request, CallClock())
    body = model_server.requests[0].body
    assert (body["temperature"], body["max_tokens"]) == (0.25, 7)
    assert body["response_format"]["json_schema"]["schema"] == {"type": "object"}


def test_tools_and_other_parameters_of_a_program_reach_the_model(
    make_gateway: MakeGateway, model_server: ModelServer
) -> None:
    tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
    request = {**HELLO, "tools": [tool], "tool_choice": "auto", "extra": {"stop": ["."], "seed": 3}}
    answer = calls(make_gateway).answer(request, CallClock())
    body = model_server.requests[0].body
    assert (body["tools"], body["tool_choice"], body["stop"], body["seed"]) == ([tool], "auto", ["."], 3)
    assert answer == {
        "text": "ok", "tool_calls": [], "finish_reason": "stop", "prompt_tokens": 2, "completion_tokens": 1,
    }  # fmt: skip


def test_a_refusal_is_the_providers_fault_and_stays_after_a_later_success(
    make_gateway: MakeGateway, model_server: ModelServer
) -> None:
    model_server.fail(status(400, "too long"))
    made = calls(make_gateway)
    assert "too long" in made.answer(HELLO, CallClock())["error"]
    assert made.answer(HELLO, CallClock())["text"] == "ok"
    assert made.provider_fault is not None
    assert (made.provider_fault.kind, made.provider_fault.data["permanent"]) == ("provider", False)


@pytest.mark.parametrize("role", ["task", "metric"])
def test_a_missing_model_is_named_by_its_role(make_gateway: MakeGateway, role: str) -> None:
    made = calls(make_gateway, role, task=None)
    assert f"no {role} model is set" in made.answer(HELLO, CallClock())["error"]
    assert made.provider_fault is not None
    assert made.provider_fault.data["no_model"] == role


def test_a_stop_of_the_budget_is_kept_for_the_host(make_gateway: MakeGateway, model_server: ModelServer) -> None:
    def reserve(request: object) -> Any:
        raise RunStop("budget_usd")

    made = calls(make_gateway, reserve=reserve)
    assert made.answer(HELLO, CallClock()) == {"stop": "budget_usd"}
    assert isinstance(made.stop, RunStop)
    assert model_server.requests == []


def test_a_cancelled_call_is_cancelled(make_gateway: MakeGateway) -> None:
    cancel = threading.Event()
    cancel.set()
    made = calls(make_gateway, cancel=cancel)
    assert "error" in made.answer(HELLO, CallClock())
    assert made.provider_fault is not None
    assert made.provider_fault.kind == "cancelled"


@pytest.mark.parametrize(
    "request_",
    [
        {},
        {"messages": "hello"},
        {"messages": [1]},
        {"messages": [{"role": "user"}]},
        {"messages": [{"role": "user", "content": 5}]},
        {**HELLO, "tools": "look"},
        {**HELLO, "extra": ["stop"]},
        {**HELLO, "max_tokens": "7"},
        {**HELLO, "temperature": []},
        {**HELLO, "schema": "x"},
    ],
)
def test_what_llm_never_sends_is_refused_without_a_call(
    make_gateway: MakeGateway, model_server: ModelServer, request_: dict[str, Any]
) -> None:
    made = calls(make_gateway)
    assert "no request of llm()" in made.answer(request_, CallClock())["error"]
    assert (made.stop, made.provider_fault, model_server.requests) == (None, None, [])


@pytest.mark.parametrize("name", ["n", "messages", "max_completion_tokens", "api_base", "temperatur"])
def test_a_parameter_that_would_change_what_a_call_is_or_costs_is_refused_by_name(
    make_gateway: MakeGateway, model_server: ModelServer, name: str
) -> None:
    made = calls(make_gateway)
    told = made.answer({**HELLO, "extra": {"seed": 1, name: 5}}, CallClock())["error"]
    assert f"the parameter {name!r} is not supported here" in told
    assert model_server.requests == []


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def asking(made: ModelCalls) -> threading.Thread:
    thread = threading.Thread(target=made.answer, args=(HELLO, CallClock()))
    thread.start()
    return thread


def test_a_reply_that_nobody_waited_for_is_paid_all_the_same(
    make_gateway: MakeGateway, model_server: ModelServer
) -> None:
    model_server.latency = 0.4
    made = calls(make_gateway)
    thread = asking(made)
    until(lambda: model_server.busy == 1)
    made.end()
    assert made.totals() == {"cost_usd": 4.0, "model_calls": 1, "prompt_tokens": 2, "completion_tokens": 1}
    thread.join()


def test_a_call_that_waits_in_a_queue_at_the_end_is_never_sent(
    make_gateway: MakeGateway, model_server: ModelServer
) -> None:
    model_server.latency = 0.4
    made = calls(make_gateway, concurrency=1)
    threads = [asking(made) for _ in range(3)]
    until(lambda: model_server.busy == 1)
    made.end()
    assert (len(model_server.requests), made.totals()["model_calls"], made.provider_fault) == (1, 1, None)
    for thread in threads:
        thread.join()


def test_a_call_that_failed_is_not_tried_again_after_the_end(
    make_gateway: MakeGateway, model_server: ModelServer
) -> None:
    model_server.fail_always(status(500))
    model_server.latency = 0.2
    made = calls(make_gateway)
    thread = asking(made)
    until(lambda: model_server.busy == 1)
    made.end()
    thread.join()
    assert (len(model_server.requests), made.totals()["cost_usd"], made.provider_fault) == (1, 0.0, None)


def test_a_request_after_the_end_is_not_sent(make_gateway: MakeGateway, model_server: ModelServer) -> None:
    made = calls(make_gateway)
    made.end()
    assert "after the end" in made.answer(HELLO, CallClock())["error"]
    assert (made.provider_fault, model_server.requests) == (None, [])


def test_what_was_sent_and_given_up_with_the_run_makes_the_cost_unknown(
    make_gateway: MakeGateway, model_server: ModelServer
) -> None:
    cancel = threading.Event()
    model_server.latency = 3
    made = calls(make_gateway, cancel=cancel)
    thread = asking(made)
    until(lambda: model_server.busy == 1)
    cancel.set()
    began = time.monotonic()
    made.end()
    assert time.monotonic() - began < 2
    assert made.totals()["cost_usd"] is None
    thread.join()
