from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from skynet.models.calls import Reply, Scope
from skynet.models.endpoint import Ask, Endpoint
from skynet.models.endpoint_wire import EndpointRequest
from skynet.models.gateway import Gateway
from skynet.models.ledger import Ledger
from tests import loopback
from tests.loopback import ModelServer
from tests.models.conftest import MakeGateway

ASK = [{"role": "user", "content": "one two three"}]
CALL = {"id": "1", "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}}
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    served = Endpoint(["openai/small"])
    yield served
    served.close()


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


@pytest.fixture
def gateway(make_gateway: MakeGateway, ledger: Ledger) -> Gateway:
    return make_gateway({"price": {"input": 1.0, "output": 10.0}}, ledger=ledger)


def through(gateway: Gateway, case: str = "1") -> Ask:
    def ask(request: EndpointRequest) -> Reply:
        return gateway.complete("task", request.messages, **request.options(), scope=Scope(case, "v"))

    return ask


CLIENT = httpx.Client(timeout=30)


def post(endpoint: Endpoint, token: str, **body: Any) -> httpx.Response:
    headers = {"authorization": f"Bearer {token}"}
    return CLIENT.post(f"{endpoint.base_url}/chat/completions", headers=headers, json=body)


def error(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["message"]


def test_a_call_is_answered_and_priced_to_the_case_of_its_token(
    endpoint: Endpoint, gateway: Gateway, ledger: Ledger
) -> None:
    with endpoint.grant(through(gateway, "7")) as seven, endpoint.grant(through(gateway, "8")) as eight:
        reply = post(endpoint, seven, model="any", messages=ASK, temperature=0.5).json()
        post(endpoint, eight, messages=ASK)
    assert reply["choices"][0]["message"] == {"role": "assistant", "content": "ok"}
    assert reply["usage"] == {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}
    assert reply["model"] == "openai/small"
    assert [entry.case for entry in ledger.entries()] == ["7", "8"]
    assert [entry.cost_usd for entry in ledger.entries()] == [pytest.approx(13e-6)] * 2


def test_parameters_reach_the_provider(endpoint: Endpoint, gateway: Gateway, model_server: ModelServer) -> None:
    form = {"type": "json_object"}
    sent = {"temperature": 0.1, "top_p": 0.2, "stop": ["x"], "seed": 4, "response_format": form, "tools": [TOOL]}
    with endpoint.grant(through(gateway)) as token:
        assert post(endpoint, token, messages=ASK, max_completion_tokens=5, tool_choice="auto", **sent).is_success
    body = model_server.requests[0].body
    assert {name: body[name] for name in sent} == sent
    assert (body["max_tokens"], body["tool_choice"]) == (5, "auto")


def test_n_replies_are_n_calls(endpoint: Endpoint, gateway: Gateway, model_server: ModelServer, ledger: Ledger) -> None:
    model_server.reply = ["a", "b"]
    with endpoint.grant(through(gateway)) as token:
        reply = post(endpoint, token, messages=ASK, n=2).json()
    assert [(choice["index"], choice["message"]["content"]) for choice in reply["choices"]] == [(0, "a"), (1, "b")]
    assert len(ledger.entries()) == 2


def test_usage_that_was_not_counted_is_absent(
    endpoint: Endpoint, gateway: Gateway, model_server: ModelServer
) -> None:
    model_server.usage = None
    with endpoint.grant(through(gateway)) as token:
        assert "usage" not in post(endpoint, token, messages=ASK).json()


@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer wrong"}, {"authorization": "Basic abc"}])
def test_an_unknown_token_is_refused(endpoint: Endpoint, headers: dict[str, str]) -> None:
    response = CLIENT.post(f"{endpoint.base_url}/chat/completions", headers=headers, json={"messages": ASK})
    assert response.status_code == 401
    assert response.json()["error"]["code"] == "invalid_api_key"


def test_a_token_ends_with_its_case(endpoint: Endpoint, gateway: Gateway) -> None:
    with endpoint.grant(through(gateway)) as token:
        assert post(endpoint, token, messages=ASK).status_code == 200
    assert post(endpoint, token, messages=ASK).status_code == 401


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"{", "not valid JSON"),
        (b"\xff\xfe\x00", "not valid JSON"),
        (b"[]", "must be a JSON object, not list"),
        (b"{}", "'messages' must be"),
        (b'{"messages": []}', "'messages' must be"),
        (b'{"messages": ["x"]}', "'messages' must be"),
        (b'{"messages": [{}], "temperature": "hot"}', "'temperature' must be a number"),
        (b'{"messages": [{}], "max_tokens": 0}', "'max_tokens' must be a whole number"),
        (b'{"messages": [{}], "n": true}', "'n' must be"),
        (b'{"messages": [{}], "tools": {}}', "'tools' must be a list"),
        (b'{"messages": [{}], "stream": "yes"}', "'stream' must be true or false"),
        (b'{"messages": [{}], "logprobs": true}', "'logprobs' is not supported"),
        (b'{"messages": [{}], "tempreature": 1}', "Did you mean 'temperature'?"),
        (b'{"messages": [{}], "api_base": "http://elsewhere"}', "'api_base' is not supported"),
    ],
)
def test_a_bad_request_is_told_what_is_wrong(endpoint: Endpoint, content: bytes, words: str) -> None:
    with endpoint.grant(_never) as token:
        headers = {"authorization": f"Bearer {token}"}
        response = CLIENT.post(f"{endpoint.base_url}/chat/completions", headers=headers, content=content)
    status, message = error(response)
    assert status == 400
    assert words in message


def _never(request: EndpointRequest) -> Reply:
    raise AssertionError("a bad request must not reach the gateway")


def test_another_path_is_not_found(endpoint: Endpoint) -> None:
    with endpoint.grant(_never) as token:
        headers = {"authorization": f"Bearer {token}"}
        response = CLIENT.post(f"{endpoint.base_url}/embeddings", headers=headers, json={})
    status, message = error(response)
    assert status == 404
    assert "POST /v1/chat/completions" in message


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        (loopback.status(404, "no such model"), 404),
        (loopback.status(429, "slow down"), 429),
        (loopback.status(500, "oh dear"), 500),
        (loopback.MALFORMED, 502),
        (loopback.CLOSED_SOCKET, 502),
    ],
)
def test_a_provider_fault_keeps_its_status_and_words(
    endpoint: Endpoint, gateway: Gateway, model_server: ModelServer, fault: loopback.Fault, status: int
) -> None:
    model_server.fail_always(fault)
    with endpoint.grant(through(gateway)) as token:
        response = post(endpoint, token, messages=ASK, stream=True)
    assert response.status_code == status
    assert response.headers["x-should-retry"] == "false"
    if fault.kind == "status":
        assert fault.words in response.json()["error"]["message"]


def test_a_request_for_many_replies_stops_asking_when_its_case_ends(endpoint: Endpoint) -> None:
    asked, go = threading.Semaphore(0), threading.Event()
    counted: list[EndpointRequest] = []

    def slow(request: EndpointRequest) -> Reply:
        counted.append(request)
        asked.release()
        assert go.wait(20)
        return Reply("x", 1, 1, None, 1.0, 0.0, "m")

    with ThreadPoolExecutor(1) as pool:
        with endpoint.grant(slow) as token:
            response = pool.submit(post, endpoint, token, messages=ASK, n=100)
            assert asked.acquire(timeout=20)
        go.set()
        assert error(response.result())[0] == 401
    assert len(counted) == 1


def test_an_error_of_the_hosts_code_is_an_answer_too(endpoint: Endpoint) -> None:
    def broken(request: EndpointRequest) -> Reply:
        raise KeyError("bug")

    with endpoint.grant(broken) as token:
        assert error(post(endpoint, token, messages=ASK)) == (500, "KeyError: 'bug'")


def test_a_stop_inside_a_call_reaches_the_host_though_the_program_swallows_it(endpoint: Endpoint) -> None:
    class BudgetStop(BaseException):
        pass

    def stopped(request: EndpointRequest) -> Reply:
        raise BudgetStop("no money left")

    with pytest.raises(BudgetStop), endpoint.grant(stopped) as token:
        assert error(post(endpoint, token, messages=ASK)) == (403, "The run has stopped: no money left")


def test_many_calls_at_once_are_each_answered(
    endpoint: Endpoint, gateway: Gateway, model_server: ModelServer
) -> None:
    model_server.reply = lambda body: str(body["messages"][0]["content"])
    with endpoint.grant(through(gateway)) as token, ThreadPoolExecutor(24) as pool:
        replies = pool.map(lambda at: post(endpoint, token, messages=[{"role": "user", "content": str(at)}]), range(96))
        texts = [reply.json()["choices"][0]["message"]["content"] for reply in replies]
    assert texts == [str(at) for at in range(96)]


def test_a_client_that_goes_away_harms_nobody(endpoint: Endpoint, capfd: pytest.CaptureFixture[str]) -> None:
    answered = threading.Event()

    def slow(request: EndpointRequest) -> Reply:
        answered.wait(10)
        return Reply("x" * 1_000_000, 1, 1, None, 1.0, 0.0, "m")

    with endpoint.grant(slow) as token:
        headers = {"authorization": f"Bearer {token}"}
        with pytest.raises(httpx.ReadTimeout):
            CLIENT.post(f"{endpoint.base_url}/chat/completions", headers=headers, json={"messages": ASK}, timeout=0.2)
        answered.set()
        assert post(endpoint, token, messages=ASK).is_success
    assert capfd.readouterr().err == ""


@pytest.fixture
def openai_client(endpoint: Endpoint) -> Callable[[str], Any]:
    import openai

    return lambda token: openai.OpenAI(base_url=endpoint.base_url, api_key=token)


def test_the_openai_client_works(
    endpoint: Endpoint, gateway: Gateway, model_server: ModelServer, openai_client: Callable[[str], Any]
) -> None:
    with endpoint.grant(through(gateway)) as token, openai_client(token) as client:
        assert [model.id for model in client.models.list()] == ["openai/small"]
        plain = client.chat.completions.create(model="x", messages=ASK)
        assert (plain.choices[0].message.content, plain.usage.total_tokens) == ("ok", 4)
        model_server.reply = {"tool_calls": [CALL]}
        tools = client.chat.completions.create(model="x", messages=ASK, tools=[TOOL])
        assert tools.choices[0].finish_reason == "tool_calls"
        assert tools.choices[0].message.tool_calls[0].function.arguments == '{"at": 1}'


def test_the_openai_client_streams(
    endpoint: Endpoint, gateway: Gateway, model_server: ModelServer, openai_client: Callable[[str], Any]
) -> None:
    model_server.reply = ["streamed words", {"tool_calls": [CALL]}]
    with endpoint.grant(through(gateway)) as token, openai_client(token) as client:
        options = {"model": "x", "messages": ASK, "stream": True}
        text = list(client.chat.completions.create(**options, stream_options={"include_usage": True}))
        tools = list(client.chat.completions.create(**options, tools=[TOOL]))
    assert "".join(c.choices[0].delta.content or "" for c in text if c.choices) == "streamed words"
    assert text[-1].usage.total_tokens == 5
    assert tools[0].choices[0].delta.tool_calls[0].function.name == "look"
    assert tools[-1].choices[0].finish_reason == "tool_calls"
    assert tools[-1].usage is None


def test_a_raw_stream_ends_with_done(endpoint: Endpoint, gateway: Gateway) -> None:
    with endpoint.grant(through(gateway)) as token:
        response = post(endpoint, token, messages=ASK, stream=True)
    assert response.headers["content-type"] == "text/event-stream"
    assert response.text.endswith("data: [DONE]\n\n")


def test_the_openai_client_does_not_try_again_what_the_gateway_gave_up(
    endpoint: Endpoint, gateway: Gateway, model_server: ModelServer, openai_client: Callable[[str], Any]
) -> None:
    import openai

    model_server.fail_always(loopback.status(503))
    with endpoint.grant(through(gateway)) as token, openai_client(token) as client:
        with pytest.raises(openai.InternalServerError):
            client.chat.completions.create(model="x", messages=ASK)
    assert len(model_server.requests) == 4  # the gateway's own attempts


def test_dspy_works_with_tools_too(
    endpoint: Endpoint, gateway: Gateway, model_server: ModelServer, ledger: Ledger
) -> None:
    import dspy

    thought = "[[ ## next_thought ## ]]\nlook\n\n[[ ## next_tool_name ## ]]\n{}\n\n[[ ## next_tool_args ## ]]\n{}"
    model_server.reply = [
        "[[ ## answer ## ]]\nParis\n\n[[ ## completed ## ]]",
        thought.format("look", "{}"),
        thought.format("finish", "{}"),
        "[[ ## reasoning ## ]]\nseen\n\n[[ ## answer ## ]]\nRome\n\n[[ ## completed ## ]]",
    ]
    seen: list[str] = []

    def look() -> str:
        """Look around."""
        seen.append("looked")
        return "Rome"

    with endpoint.grant(through(gateway)) as token:
        model = dspy.LM("openai/x", api_base=endpoint.base_url, api_key=token, cache=False)
        with dspy.context(lm=model):
            assert dspy.Predict("question -> answer")(question="capital?").answer == "Paris"
            assert dspy.ReAct("question -> answer", tools=[look])(question="where?").answer == "Rome"
    assert seen == ["looked"]
    assert len(ledger.entries()) == len(model_server.requests)
