from __future__ import annotations

import importlib.util
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from skynet.errors import SkynetError
from skynet.models.calls import ReserveRequest, Scope
from skynet.models.faults import ProviderError
from skynet.models.gateway import Settle
from skynet.models.ledger import Ledger, LedgerEntry
from skynet.models.retry import Cancelled, RetryPolicy
from skynet.spec import ModelSpec, ModelsSpec
from tests import loopback
from tests.loopback import ModelServer
from tests.models.conftest import MakeGateway

ASK = [{"role": "user", "content": "one two three"}]
PRICE = {"input": 1.0, "output": 10.0}
PATIENT = RetryPolicy(first_wait=30, longest_wait=60)


def test_a_reply_has_text_tokens_and_the_models_name(make_gateway: MakeGateway, model_server: ModelServer) -> None:
    model_server.reply = "four five"
    reply = make_gateway().complete("task", ASK)
    assert (reply.text, reply.prompt_tokens, reply.completion_tokens) == ("four five", 3, 2)
    assert (reply.model, reply.finish_reason, reply.tool_calls) == ("openai/small", "stop", ())


def test_a_price_of_the_spec_is_dollars_per_million_tokens(make_gateway: MakeGateway) -> None:
    reply = make_gateway({"price": PRICE}).complete("task", ASK)
    assert reply.cost_usd == pytest.approx((3 * 1.0 + 1 * 10.0) / 1e6)


def test_a_model_without_a_price_costs_none(make_gateway: MakeGateway) -> None:
    assert make_gateway().complete("task", ASK).cost_usd is None


def test_a_reply_without_usage_has_no_tokens_and_no_cost(make_gateway: MakeGateway, model_server: ModelServer) -> None:
    model_server.usage = None
    reply = make_gateway({"price": PRICE}).complete("task", ASK)
    assert (reply.prompt_tokens, reply.completion_tokens, reply.cost_usd) == (None, None, None)


def test_each_answered_call_makes_one_ledger_entry(make_gateway: MakeGateway, model_server: ModelServer) -> None:
    ledger = Ledger()
    gateway = make_gateway({"price": PRICE}, ledger=ledger)
    model_server.fail(loopback.status(500))
    gateway.complete("task", ASK, scope=Scope(case="7", version="abc"))
    model_server.fail(loopback.status(404))
    with pytest.raises(ProviderError):
        gateway.complete("task", ASK)
    (entry,) = ledger.entries()
    assert (entry.role, entry.model, entry.case, entry.version) == ("task", "openai/small", "7", "abc")
    assert (entry.prompt_tokens, entry.completion_tokens) == (3, 1)
    assert entry.cost_usd == pytest.approx(13e-6)


def test_latency_is_the_successful_attempts_and_the_rest_is_waiting(
    make_gateway: MakeGateway, model_server: ModelServer
) -> None:
    gateway = make_gateway()
    gateway.complete("task", ASK)  # connects
    model_server.fail(loopback.status(429, retry_after="0.25"))
    reply = gateway.complete("task", ASK)
    assert reply.waited_ms >= 250
    assert reply.latency_ms < reply.waited_ms


def test_the_wait_in_the_queue_is_not_latency(make_gateway: MakeGateway, model_server: ModelServer) -> None:
    model_server.latency = 0.1
    gateway = make_gateway(concurrency=1)
    gateway.complete("task", ASK)
    with ThreadPoolExecutor(3) as pool:
        replies = list(pool.map(lambda _: gateway.complete("task", ASK), range(3)))
    last = max(replies, key=lambda reply: reply.waited_ms)
    assert last.waited_ms > last.latency_ms


def test_no_more_calls_of_a_model_run_at_a_time_than_allowed(
    make_gateway: MakeGateway, model_server: ModelServer
) -> None:
    model_server.latency = 0.05
    gateway = make_gateway(concurrency=3)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: gateway.complete("task", ASK), range(8)))
    assert model_server.most_busy == 3


def test_parameters_of_the_spec_are_sent_and_the_calls_own_win(
    make_gateway: MakeGateway, model_server: ModelServer
) -> None:
    params = {"temperature": 0.2, "max_tokens": 50, "seed": 3, "extra_body": {"top_k": 4}}
    make_gateway({"params": params}).complete("task", ASK, temperature=0.9, extra={"seed": 5})
    body = model_server.requests[0].body
    assert (body["temperature"], body["max_tokens"], body["seed"], body["top_k"]) == (0.9, 50, 5, 4)
    assert (body["model"], body["messages"]) == ("small", ASK)
    assert "extra_body" not in body


def test_a_call_that_names_no_limit_sends_the_default_one(make_gateway: MakeGateway, model_server: ModelServer) -> None:
    make_gateway().complete("task", ASK)
    assert model_server.requests[0].body["max_tokens"] == 2048


def test_a_limit_under_the_newer_name_is_sent_under_that_name_only(
    make_gateway: MakeGateway, model_server: ModelServer
) -> None:
    make_gateway({"params": {"max_completion_tokens": 90}}).complete("task", ASK, max_tokens=70)
    body = model_server.requests[0].body
    assert body["max_completion_tokens"] == 70
    assert "max_tokens" not in body


def test_choices_are_sent_as_an_enum_and_the_bare_choice_comes_back(
    make_gateway: MakeGateway, model_server: ModelServer
) -> None:
    model_server.reply = "red"
    assert make_gateway().complete("task", ASK, choices=["red", "blue"]).text == "red"
    form = model_server.requests[0].body["response_format"]["json_schema"]
    assert form["schema"]["properties"]["choice"]["enum"] == ["red", "blue"]


def test_a_reply_that_is_no_choice_comes_back_as_it_is(make_gateway: MakeGateway, model_server: ModelServer) -> None:
    model_server.reply = '{"choice": "green"}'
    assert make_gateway().complete("task", ASK, choices=["red"]).text == '{"choice": "green"}'


def test_a_schema_is_sent_as_the_response_format(make_gateway: MakeGateway, model_server: ModelServer) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    make_gateway().complete("task", ASK, schema=schema)
    assert model_server.requests[0].body["response_format"]["json_schema"]["schema"] == schema


def test_a_schema_and_choices_together_are_refused(make_gateway: MakeGateway) -> None:
    with pytest.raises(ValueError, match="one of schema, choices"):
        make_gateway().complete("task", ASK, schema={}, choices=["a"])


def test_tools_and_tool_calls_pass_through(make_gateway: MakeGateway, model_server: ModelServer) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
    model_server.reply = {"tool_calls": [call]}
    reply = make_gateway().complete("task", ASK, tools=[tool], tool_choice="auto")
    assert (reply.text, reply.tool_calls, reply.finish_reason) == ("", (call,), "tool_calls")
    assert model_server.requests[0].body["tools"] == [tool]
    assert model_server.requests[0].body["tool_choice"] == "auto"


def test_lone_surrogates_in_a_prompt_are_sent(make_gateway: MakeGateway, model_server: ModelServer) -> None:
    make_gateway().complete("task", [{"role": "user", "content": "a\ud800b"}])
    assert model_server.requests[0].body["messages"][0]["content"] == "a\ud800b"


def test_the_metric_role_falls_back_to_the_reflection_model(
    make_gateway: MakeGateway, model_server: ModelServer
) -> None:
    ledger = Ledger()
    models = ModelsSpec(reflection=ModelSpec(name="openai/big", base_url=model_server.url))
    gateway = make_gateway(models=models, ledger=ledger)
    assert gateway.has("metric")
    assert gateway.complete("metric", ASK).model == "openai/big"
    assert ledger.entries()[0].role == "metric"


def test_a_role_without_a_model_says_where_to_name_one(make_gateway: MakeGateway) -> None:
    gateway = make_gateway()
    assert not gateway.has("reflection")
    with pytest.raises(SkynetError, match=r"role 'reflection'.*\[models\]"):
        gateway.complete("reflection", ASK)


def test_a_description_holds_name_and_parameters_only(make_gateway: MakeGateway) -> None:
    gateway = make_gateway({"price": PRICE, "params": {"seed": 1}, "api_key_env": "K"})
    assert gateway.describe("task") == {"name": "openai/small", "params": {"max_tokens": 2048, "seed": 1}}


def test_a_set_cancel_flag_ends_a_retry_wait_at_once(make_gateway: MakeGateway, model_server: ModelServer) -> None:
    gateway = make_gateway(retry=PATIENT)
    model_server.fail_always(loopback.status(503))
    ended = _after_cancel(lambda flag: gateway.complete("task", ASK, cancel=flag), model_server)
    assert ended < PATIENT.first_wait / 10


def test_closing_the_gateway_ends_a_retry_wait_at_once(make_gateway: MakeGateway, model_server: ModelServer) -> None:
    gateway = make_gateway(retry=PATIENT)
    model_server.fail_always(loopback.status(503))
    assert _after_cancel(lambda _: gateway.complete("task", ASK), model_server, gateway.close) < PATIENT.first_wait / 10
    with pytest.raises(Cancelled):
        gateway.complete("task", ASK)


def test_a_request_in_flight_when_the_gateway_closes_is_still_answered_and_booked(
    make_gateway: MakeGateway, model_server: ModelServer
) -> None:
    model_server.latency, ledger = 0.3, Ledger()
    gateway = make_gateway(ledger=ledger)
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(gateway.complete, "task", ASK)
        while not model_server.requests:
            time.sleep(0.005)
        gateway.close()
        assert future.result().text == "ok"
    assert len(ledger.entries()) == 1


def test_a_local_name_goes_to_the_local_backend(make_gateway: MakeGateway) -> None:
    gateway = make_gateway(models=ModelsSpec(task=ModelSpec(name="local/no-such.gguf")))
    with pytest.raises(ProviderError, match=r"local/no-such\.gguf") as caught:
        gateway.complete("task", ASK)
    assert caught.value.permanent


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"name": "local/nothing.gguf"}, r"The task model 'local/nothing\.gguf' cannot be used: .*there is no file"),
        ({"name": "local/smolm2-135m"}, r"Did you mean 'smollm2-135m'\?"),
        ({"name": "local/smollm2-135m"}, r"`skynet models pull` fetches it"),
        ({"name": "openai/gpt-4o", "api_key_env": "NO_KEY"}, r"takes its key from NO_KEY \(api_key_env\)"),
    ],
)
def test_a_model_that_cannot_be_used_is_found_without_a_call(
    make_gateway: MakeGateway, tmp_path: Path, spec: dict[str, Any], said: str
) -> None:
    gateway = make_gateway(models=ModelsSpec(task=ModelSpec(**spec)), environ={"SKYNET_CACHE": str(tmp_path)})
    if spec["name"].startswith("local/") and importlib.util.find_spec("xllamacpp") is None:
        said = r"pip install 'skynet-optimizer\[local\]'"
    with pytest.raises(SkynetError, match=said):
        gateway.check("task")


@pytest.mark.parametrize(
    ("spec", "environ"),
    [
        ({"name": "openai/gpt-4o"}, {"OPENAI_API_KEY": "secret-one"}),
        ({"name": "gpt-4o"}, {"OPENAI_API_KEY": "secret-one"}),
        ({"name": "anthropic/any", "api_key_env": "MY_KEY"}, {"MY_KEY": "secret-one"}),
        ({"name": "any", "base_url": "http://127.0.0.1:1/v1"}, {}),
    ],
)
def test_a_model_that_can_be_used_passes_without_litellm(
    make_gateway: MakeGateway, monkeypatch: pytest.MonkeyPatch, spec: dict[str, Any], environ: dict[str, str]
) -> None:
    monkeypatch.setattr("skynet.models.remote.load_litellm", lambda: pytest.fail("LiteLLM was asked for"))
    make_gateway(models=ModelsSpec(task=ModelSpec(**spec)), environ=environ).check("task")


def test_a_set_cancel_flag_ends_the_wait_for_a_silent_server(
    make_gateway: MakeGateway, model_server: ModelServer
) -> None:
    model_server.latency = 2
    gateway = make_gateway()
    ended = _after_cancel(lambda flag: gateway.complete("task", ASK, cancel=flag), model_server)
    assert ended < model_server.latency / 2


def test_a_set_cancel_flag_ends_the_wait_for_a_slot(make_gateway: MakeGateway, model_server: ModelServer) -> None:
    model_server.latency = 2
    gateway = make_gateway(concurrency=1)
    threading.Thread(target=lambda: gateway.complete("task", ASK), daemon=True).start()
    while not model_server.requests:  # the slot is taken
        time.sleep(0.005)
    ended = _after_cancel(lambda flag: gateway.complete("task", ASK, cancel=flag), model_server)
    assert ended < model_server.latency / 2


def _after_cancel(call: Any, server: ModelServer, close: Any = None) -> float:
    """Run `call` on a thread, cancel it once the server was asked, and return the seconds until it raised Cancelled."""
    flag = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(call, flag)
        while not server.requests:
            time.sleep(0.005)
        time.sleep(0.05)
        began = time.monotonic()
        if close is None:
            flag.set()
        else:
            close()
        with pytest.raises(Cancelled):
            future.result()
        return time.monotonic() - began


class Books:
    """A reserve hook that remembers what it was asked and told."""

    def __init__(self) -> None:
        self.asked: list[ReserveRequest] = []
        self.settled: list[LedgerEntry | None] = []

    def __call__(self, request: ReserveRequest) -> Settle:
        self.asked.append(request)
        return self.settled.append


def test_a_call_is_reserved_at_its_upper_bound_and_settled_once(make_gateway: MakeGateway) -> None:
    books, ledger = Books(), Ledger()
    gateway = make_gateway({"price": PRICE}, reserve=books, ledger=ledger)
    gateway.complete("task", [{"role": "user", "content": "ü" * 100}], max_tokens=10, scope=Scope("1", "v"))
    (asked,) = books.asked
    assert asked.prompt_tokens >= 200  # UTF-8 bytes
    assert (asked.role, asked.max_tokens, asked.scope) == ("task", 10, Scope("1", "v"))
    assert asked.usd == pytest.approx((asked.prompt_tokens * 1.0 + 10 * 10.0) / 1e6)
    assert books.settled == list(ledger.entries())


def test_a_retried_call_is_reserved_once(make_gateway: MakeGateway, model_server: ModelServer) -> None:
    books = Books()
    model_server.fail(loopback.status(500), loopback.MALFORMED)
    make_gateway(reserve=books).complete("task", ASK)
    assert (len(books.asked), len(books.settled), books.asked[0].usd) == (1, 1, None)


def test_a_failed_call_is_settled_with_none(make_gateway: MakeGateway, model_server: ModelServer) -> None:
    books = Books()
    model_server.fail(loopback.status(400))
    with pytest.raises(ProviderError):
        make_gateway(reserve=books).complete("task", ASK)
    assert books.settled == [None]


def test_what_the_reserve_hook_raises_passes_untouched_and_nothing_is_sent(
    make_gateway: MakeGateway, model_server: ModelServer
) -> None:
    class Stop(BaseException):
        pass

    def refuse(request: ReserveRequest) -> Settle:
        raise Stop

    with pytest.raises(Stop):
        make_gateway(reserve=refuse).complete("task", ASK)
    assert model_server.requests == []


def test_importing_the_gateway_imports_no_client_library() -> None:
    heavy = ["httpx", "litellm", "tenacity", "openai", "dspy", "numpy"]
    code = f"import sys, skynet.models.gateway, skynet.models.endpoint; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
