from __future__ import annotations

import json
import traceback

import pytest

from skynet.errors import SkynetError
from skynet.models.faults import ProviderError
from skynet.models.retry import RetryPolicy
from tests import loopback
from tests.loopback import Fault, ModelServer
from tests.models.conftest import QUICK, MakeGateway

ASK = [{"role": "user", "content": "hello"}]
KEY = "top-secret-value-123"

TRANSIENT = [
    *(loopback.status(code) for code in (408, 409, 429, 500, 502, 503, 529)),
    loopback.CUT_BODY,
    loopback.MALFORMED,
    loopback.WRONG_TYPE,
    loopback.EMPTY_CHOICE,
    loopback.CLOSED_SOCKET,
    Fault("malformed", body="[]"),
    Fault("malformed", body='{"choices": [{}]}'),
    Fault("malformed", body='{"choices": [{"message": {"content": 7}}]}'),
    Fault("malformed", body="\x00"),
]
PERMANENT = [
    *(loopback.status(code, "so says the provider") for code in (301, 400, 401, 402, 403, 404, 413, 422)),
    loopback.status(429, "so says the provider", error_code="insufficient_quota"),
]


def _name(fault: Fault) -> str:
    return f"{fault.kind}-{fault.code}-{fault.error_code or fault.body or ''}"


@pytest.mark.parametrize("fault", TRANSIENT, ids=_name)
def test_a_transient_fault_is_tried_again(make_gateway: MakeGateway, model_server: ModelServer, fault: Fault) -> None:
    model_server.fail(fault)
    assert make_gateway().complete("task", ASK).text == "ok"
    assert len(model_server.requests) == 2


@pytest.mark.parametrize("fault", TRANSIENT, ids=_name)
def test_a_transient_fault_that_stays_is_a_provider_error(
    make_gateway: MakeGateway, model_server: ModelServer, fault: Fault
) -> None:
    model_server.fail_always(fault)
    with pytest.raises(ProviderError, match="failed 4 times") as caught:
        make_gateway().complete("task", ASK)
    assert (caught.value.permanent, caught.value.attempts) == (False, QUICK.attempts)
    assert len(model_server.requests) == QUICK.attempts


@pytest.mark.parametrize("fault", PERMANENT, ids=_name)
def test_a_permanent_fault_is_raised_at_once(
    make_gateway: MakeGateway, model_server: ModelServer, fault: Fault
) -> None:
    model_server.fail(fault)
    with pytest.raises(ProviderError, match="refused the call") as caught:
        make_gateway().complete("task", ASK)
    assert (caught.value.permanent, caught.value.status, caught.value.attempts) == (True, fault.code, 1)
    assert len(model_server.requests) == 1


@pytest.mark.parametrize(
    "body",
    [
        '{"error": {"message": "no such model: zeta"}}',
        '{"error": "no such model: zeta"}',
        '{"detail": "no such model: zeta"}',
        '{"message": "no such model: zeta"}',
        "no such model: zeta",
    ],
)
def test_the_providers_words_are_shown(make_gateway: MakeGateway, model_server: ModelServer, body: str) -> None:
    model_server.fail(loopback.status(404, body=body))
    with pytest.raises(ProviderError, match=r"status 404: no such model: zeta\. Check the model's name") as caught:
        make_gateway().complete("task", ASK)
    assert caught.value.words == "no such model: zeta"


def test_retry_after_is_waited_for(make_gateway: MakeGateway, model_server: ModelServer) -> None:
    model_server.fail(loopback.status(429, retry_after="0.2"))
    make_gateway().complete("task", ASK)
    first, second = model_server.requests
    assert second.at - first.at >= 0.2


def test_a_retry_after_of_hours_is_hopeless(make_gateway: MakeGateway, model_server: ModelServer) -> None:
    model_server.fail(loopback.status(429, "the day's limit is reached", retry_after="7200"))
    with pytest.raises(ProviderError, match=r"the day's limit is reached\. It asks to wait 7200 s") as caught:
        make_gateway().complete("task", ASK)
    assert (caught.value.hopeless, len(model_server.requests)) == (True, 1)


def test_a_body_that_drips_past_the_timeout_is_given_up(make_gateway: MakeGateway, model_server: ModelServer) -> None:
    model_server.fail(loopback.SLOW_DRIP)  # a byte each 50 ms, so no single read ever times out
    assert make_gateway(timeout=0.3).complete("task", ASK).text == "ok"
    assert len(model_server.requests) == 2


def test_a_server_that_does_not_answer_in_time_is_a_provider_error(
    make_gateway: MakeGateway, model_server: ModelServer
) -> None:
    model_server.latency = 1
    with pytest.raises(ProviderError, match=r"no complete reply from .* within 0.1 s"):
        make_gateway(timeout=0.1, retry=RetryPolicy(attempts=1)).complete("task", ASK)


def test_a_server_that_is_not_there_is_named(make_gateway: MakeGateway, model_server: ModelServer) -> None:
    model_server.close()
    with pytest.raises(ProviderError, match=r"failed 4 times.*http://127\.0\.0\.1.*ConnectError") as caught:
        make_gateway().complete("task", ASK)
    assert caught.value.status is None


@pytest.mark.parametrize("environment", [{"HTTP_PROXY": "http://127.0.0.1:9"}, {"ALL_PROXY": "http://127.0.0.1:9"}])
def test_a_proxy_is_not_asked_for_a_server_on_this_machine(
    make_gateway: MakeGateway, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert make_gateway().complete("task", ASK).text == "ok"


def test_without_a_key_variable_no_key_is_sent(make_gateway: MakeGateway, model_server: ModelServer) -> None:
    make_gateway(environ={"OPENAI_API_KEY": KEY}).complete("task", ASK)
    sent = model_server.requests[0]
    assert "authorization" not in {name.lower() for name in sent.headers}
    assert KEY not in json.dumps([dict(sent.headers), sent.body])


@pytest.mark.parametrize("code", [401, 403])
def test_a_refusal_of_a_call_without_a_key_says_how_to_name_one(
    make_gateway: MakeGateway, model_server: ModelServer, code: int
) -> None:
    model_server.fail(loopback.status(code, "You must provide an API key"))
    with pytest.raises(ProviderError, match=r"an API key\. No key was sent: name the variable .* as api_key_env"):
        make_gateway().complete("task", ASK)


def test_a_refusal_of_a_key_names_its_variable(make_gateway: MakeGateway, model_server: ModelServer) -> None:
    model_server.fail(loopback.status(401, "Incorrect API key provided."))
    with pytest.raises(ProviderError, match=r"provided\. Check the key in MY_KEY\."):
        make_gateway({"api_key_env": "MY_KEY"}, environ={"MY_KEY": "secret-one"}).complete("task", ASK)


def test_the_named_key_is_sent_as_a_bearer_token(make_gateway: MakeGateway, model_server: ModelServer) -> None:
    make_gateway({"api_key_env": "MY_KEY"}, environ={"MY_KEY": KEY}).complete("task", ASK)
    headers = {name.lower(): value for name, value in model_server.requests[0].headers.items()}
    assert headers["authorization"] == f"Bearer {KEY}"


def test_a_missing_key_says_where_to_put_it(make_gateway: MakeGateway) -> None:
    with pytest.raises(SkynetError, match=r"takes its key from MY_KEY.*\.env"):
        make_gateway({"api_key_env": "MY_KEY"}).complete("task", ASK)


@pytest.mark.parametrize("code", [401, 500])
def test_a_key_that_the_provider_repeats_is_not_shown(
    make_gateway: MakeGateway, model_server: ModelServer, code: int
) -> None:
    model_server.fail_always(loopback.status(code, f"Incorrect key {KEY}, not Bearer {KEY}"))
    gateway = make_gateway({"api_key_env": "MY_KEY"}, environ={"MY_KEY": KEY})
    with pytest.raises(ProviderError) as caught:
        gateway.complete("task", ASK)
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value) + caught.value.words + repr(gateway)
    assert KEY not in shown
    assert "[key]" in caught.value.words


def test_a_password_in_the_address_is_not_shown(make_gateway: MakeGateway) -> None:
    with pytest.raises(ProviderError) as caught:
        make_gateway({"base_url": "http://me:hidden-word@127.0.0.1:9/v1"}).complete("task", ASK)
    assert "hidden-word" not in str(caught.value)


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"content": None}, ""),
        ({"content": None, "refusal": "I cannot"}, "I cannot"),
        ({"content": ""}, ""),
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "ab"),
    ],
)
def test_a_reply_without_plain_text_is_still_the_models_reply(
    make_gateway: MakeGateway, model_server: ModelServer, message: dict[str, object], text: str
) -> None:
    model_server.reply = message
    assert make_gateway().complete("task", ASK).text == text
    assert len(model_server.requests) == 1
