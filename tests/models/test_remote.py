"""All tests that import LiteLLM, which takes seconds: its openai/ provider is pointed at the loopback server."""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

from skynet.models.calls import Reply
from skynet.models.endpoint import Endpoint
from skynet.models.endpoint_wire import EndpointRequest
from skynet.models.faults import ProviderError
from skynet.models.gateway import Gateway
from skynet.models.ledger import Ledger
from skynet.models.remote import load_litellm
from skynet.spec import ModelSpec, ModelsSpec
from tests import loopback
from tests.loopback import ModelServer
from tests.models.conftest import QUICK, MakeGateway

ASK = [{"role": "user", "content": "one two three"}]
KEY = "key-of-the-env-file"

pytestmark = pytest.mark.xdist_group("litellm")  # one import for all of them


@pytest.fixture
def remote(model_server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gateway]:
    """A gateway for `openai/gpt-4o-mini` without a base_url; the key is in `.env` alone."""
    monkeypatch.setenv("OPENAI_BASE_URL", model_server.url)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (tmp_path / ".env").write_text(f"OPENAI_API_KEY={KEY}\n")
    models = ModelsSpec(task=ModelSpec(name="openai/gpt-4o-mini", params={"seed": 7}))
    gateway = Gateway(models, tmp_path, ledger=Ledger(), environ=os.environ, retry=QUICK)
    yield gateway
    gateway.close()


def test_litellm_answers_for_a_model_without_an_address(remote: Gateway, model_server: ModelServer) -> None:
    model_server.reply = "red"
    model_server.fail(loopback.status(503), loopback.status(429, retry_after="0.2"))
    reply = remote.complete("task", ASK, choices=["red", "blue"], max_tokens=9)
    assert (reply.text, reply.prompt_tokens, reply.completion_tokens) == ("red", 3, 2)
    assert reply.cost_usd == pytest.approx((3 * 0.15 + 2 * 0.6) / 1e6)
    assert len(model_server.requests) == 3  # LiteLLM and its client do not retry on their own
    assert model_server.requests[2].at - model_server.requests[1].at >= 0.2
    sent = model_server.requests[0]
    assert (sent.body["seed"], sent.body["max_tokens"]) == (7, 9)
    assert {name.lower(): value for name, value in sent.headers.items()}["authorization"] == f"Bearer {KEY}"
    assert reply.latency_ms < reply.waited_ms  # importing LiteLLM is no latency of the model's


@pytest.mark.parametrize(("code", "error_code"), [(401, None), (404, None), (400, None), (429, "insufficient_quota")])
def test_what_litellm_reports_as_refused_is_permanent(
    remote: Gateway, model_server: ModelServer, code: int, error_code: str | None
) -> None:
    model_server.fail(loopback.status(code, f"insufficient_quota or bad key {KEY}", error_code=error_code))
    with pytest.raises(ProviderError) as caught:
        remote.complete("task", ASK)
    assert (caught.value.permanent, caught.value.status, len(model_server.requests)) == (True, code, 1)
    assert KEY not in "".join(traceback.format_exception(caught.value))


def test_a_name_that_litellm_does_not_know_is_refused(tmp_path: Path) -> None:
    models = ModelsSpec(task=ModelSpec(name="no-such-provider-model"))
    gateway = Gateway(models, tmp_path, ledger=Ledger(), environ=os.environ, retry=QUICK)
    with pytest.raises(ProviderError, match=r"knows no provider for this name.*provider/model.*base_url") as caught:
        gateway.complete("task", ASK)
    assert caught.value.hopeless


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("openai/gpt-4o-mini", "no key is set: put OPENAI_API_KEY into the environment, or into .env"),
        ("opnai/gpt-4o-mini", "knows no provider for this name. Did you mean 'openai/gpt-4o-mini'?"),
    ],
)
def test_a_model_that_cannot_be_used_is_found_before_a_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, said: str
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    gateway = Gateway(ModelsSpec(task=ModelSpec(name=name)), tmp_path, ledger=Ledger(), environ={})
    with pytest.raises(ProviderError) as caught:
        gateway.check("task")
    assert said in str(caught.value)
    assert caught.value.hopeless


def test_litellm_as_a_client_of_the_endpoint_works_streamed_or_not(make_gateway: MakeGateway) -> None:
    litellm, ledger, endpoint = load_litellm(), Ledger(), Endpoint(["openai/small"])
    gateway = make_gateway(ledger=ledger)

    def ask(request: EndpointRequest) -> Reply:
        return gateway.complete("task", request.messages, **request.options())

    with endpoint.grant(ask) as token:
        options = {"model": "openai/x", "messages": ASK, "api_base": endpoint.base_url, "api_key": token}
        assert litellm.completion(**options).choices[0].message.content == "ok"
        streamed = litellm.completion(**options, stream=True)
        assert "".join(chunk.choices[0].delta.content or "" for chunk in streamed) == "ok"
    endpoint.close()
    assert len(ledger.entries()) == 2
