from __future__ import annotations

import threading
import time

import pytest

from skynet.artifact import Artifact
from skynet.data.case import Case
from skynet.target.base import TargetResult, Ticket
from skynet.target.chat import ChatTarget
from tests.loopback import ModelServer, status
from tests.target.conftest import MakeGateway

SORT = Artifact("text", "Sort the message.")


def ticket(message: str = "My card was charged twice", cancel: threading.Event | None = None) -> Ticket:
    return Ticket(Case("7", {"message": message}, None, "", 7), "v1", cancel=cancel)


def failure(result: TargetResult) -> str:
    assert result.fault is not None
    assert (result.output, result.elapsed_ms) == (None, None)
    return result.fault.kind


def test_one_call_makes_the_output_with_its_time_cost_and_tokens(
    make_gateway: MakeGateway, model_server: ModelServer
) -> None:
    model_server.reply = "billing team"
    result = ChatTarget(make_gateway(), None, 10).run(SORT, ticket())
    (request,) = model_server.requests
    assert request.body["messages"][1] == {"role": "user", "content": "My card was charged twice"}
    assert (result.output, result.fault, result.model_calls) == ("billing team", None, 1)
    assert (result.prompt_tokens, result.completion_tokens, result.cost_usd) == (8, 2, 12.0)
    assert result.elapsed_ms is not None
    assert result.elapsed_ms > 0


def test_a_model_without_a_price_costs_none(make_gateway: MakeGateway) -> None:
    assert ChatTarget(make_gateway({"price": None}), None, 10).run(SORT, ticket()).cost_usd is None


def test_with_choices_the_output_is_the_choice(make_gateway: MakeGateway, model_server: ModelServer) -> None:
    model_server.reply = "billing"
    result = ChatTarget(make_gateway(), ("billing", "shipping"), 10).run(SORT, ticket())
    assert result.output == "billing"
    assert "response_format" in model_server.requests[0].body


def test_the_time_of_a_failed_try_and_the_wait_after_it_do_not_count(
    make_gateway: MakeGateway, model_server: ModelServer
) -> None:
    model_server.fail(status(500))
    began = time.perf_counter()
    elapsed = ChatTarget(make_gateway(), None, 10).run(SORT, ticket()).elapsed_ms
    wall = (time.perf_counter() - began) * 1000
    assert len(model_server.requests) == 2
    assert elapsed is not None
    assert elapsed < wall / 2


def test_a_provider_that_refuses_is_a_provider_failure(make_gateway: MakeGateway, model_server: ModelServer) -> None:
    model_server.fail(status(404, "no such model"))
    result = ChatTarget(make_gateway(), None, 10).run(SORT, ticket())
    assert failure(result) == "provider"
    assert "no such model" in str(result.fault)
    assert result.fault is not None
    assert result.fault.data == {"permanent": True}


def test_a_cancelled_call_is_no_failure_of_the_provider(make_gateway: MakeGateway) -> None:
    cancel = threading.Event()
    cancel.set()
    assert failure(ChatTarget(make_gateway(), None, 10).run(SORT, ticket(cancel=cancel))) == "cancelled"


def test_a_missing_task_model_is_named_when_the_target_is_loaded(make_gateway: MakeGateway) -> None:
    assert ChatTarget(make_gateway(), None, 10).load() is None
    result = ChatTarget(make_gateway(None), None, 10).load()
    assert result is not None
    assert result.fault is not None
    assert "under [models] as task" in result.fault.message
    assert result.fault.data["no_model"] == "task"


@pytest.mark.parametrize("text", ["\ud800", "a\x00b", "ü" * 10_000])
def test_odd_texts_reach_the_model_or_fail_as_the_providers(
    make_gateway: MakeGateway, model_server: ModelServer, text: str
) -> None:
    result = ChatTarget(make_gateway(), None, 10).run(SORT, ticket(text))
    assert result.fault is None
    assert model_server.requests[0].body["messages"][1]["content"] == text
