from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pydantic
import pytest

from skynet.errors import SkynetError
from skynet.metric.context import ModelError, Observation, ReplyError, Stopped
from skynet.metric.contract import Unmeasured
from skynet.metric.helpers import llm, observation, service_cost, unmeasured
from tests.metric.calls import call


class Judgement(pydantic.BaseModel):
    passed: bool


SCHEMA = {"type": "object", "required": ["passed"]}


def test_a_prompt_alone_is_the_user_message() -> None:
    with call("fine") as host:
        assert llm("Hello") == "fine"
    assert host.requests == [
        {"messages": [{"role": "user", "content": "Hello"}], "schema": None, "temperature": None, "max_tokens": None}
    ]


@pytest.mark.parametrize(
    ("input", "content"),
    [("text", "text"), ("", ""), ({"a": "é"}, '{"a": "é"}'), ([1, None], "[1, null]"), (0, "0")],
)
def test_with_input_the_prompt_is_the_system_message(input: Any, content: str) -> None:
    with call("fine") as host:
        llm("Judge.", input=input)
    assert host.requests[0]["messages"] == [
        {"role": "system", "content": "Judge."},
        {"role": "user", "content": content},
    ]


def test_messages_are_sent_as_given() -> None:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}]
    with call("fine") as host:
        llm(messages=messages, temperature=0, max_tokens=5)
    request = host.requests[0]
    assert (request["messages"], request["temperature"], request["max_tokens"]) == (messages, 0.0, 5)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "needs a prompt.*got none"),
        ({"prompt": " "}, "needs a prompt"),
        ({"prompt": 3}, "needs a prompt.*got 3"),
        ({"input": "x"}, "needs a prompt"),
        ({"prompt": "p", "messages": [{"role": "user", "content": "c"}]}, "it got both"),
        ({"input": "i", "messages": [{"role": "user", "content": "c"}]}, "it got both"),
        ({"messages": []}, "must be a list such as"),
        ({"messages": "hello"}, "must be a list such as"),
        ({"messages": ["hello"]}, r"messages\[0\] of llm\(\) must be a dict"),
        ({"messages": [{"role": "user"}]}, r"messages\[0\] of llm\(\) must be a dict"),
        ({"messages": [{"role": "judge", "content": "c"}]}, "has the role 'judge'; use one of system"),
        ({"messages": [{"role": "user", "content": None}]}, "must be text; it is None"),
        ({"prompt": "p", "input": object()}, "must be text or fit into JSON"),
        ({"prompt": "p", "temperature": "hot"}, "`temperature` of llm.. is a string"),
        ({"prompt": "p", "temperature": -1}, "`temperature` of llm.. is -1"),
        ({"prompt": "p", "max_tokens": 0}, "positive int; it is 0"),
        ({"prompt": "p", "max_tokens": True}, "positive int; it is True"),
        ({"prompt": "p", "schema": 3}, "`schema` must be"),
    ],
)
def test_arguments_that_make_no_request_are_refused_before_a_model_is_asked(
    arguments: dict[str, Any], words: str
) -> None:
    with call() as host, pytest.raises(SkynetError, match=words):
        llm(**arguments)
    assert host.requests == []


def test_a_reply_is_read_by_the_schema() -> None:
    with call('{"passed": true}', '```json\n{"passed": 1}\n```') as host:
        assert llm("Judge.", schema=Judgement) == Judgement(passed=True)
        assert llm("Judge.", schema=SCHEMA) == {"passed": 1}
    assert [request["schema"] for request in host.requests] == [Judgement.model_json_schema(), SCHEMA]


def test_a_reply_that_does_not_fit_is_asked_for_once_more_with_the_fault() -> None:
    with call("Sure!", '{"passed": true}') as host:
        assert llm("Judge.", schema=SCHEMA) == {"passed": True}
    first, second = (request["messages"] for request in host.requests)
    assert second[: len(first)] == first
    assert second[-2] == {"role": "assistant", "content": "Sure!"}
    assert "it is not JSON" in second[-1]["content"]
    assert '"required": ["passed"]' in second[-1]["content"]


def test_two_replies_that_do_not_fit_raise() -> None:
    with call("Sure!", "{}"), pytest.raises(ReplyError, match=r"lacks 'passed'.*It replied '\{\}'"):
        llm("Judge.", schema=SCHEMA)


def test_a_failed_provider_raises_its_words() -> None:
    with call({"error": "the model is overloaded"}), pytest.raises(ModelError, match="overloaded"):
        llm("Hello")


def test_after_a_stop_no_request_is_sent_any_more() -> None:
    with call({"stop": "the budget is spent"}, "never") as host:
        for _ in range(2):
            with pytest.raises(Stopped, match="budget is spent"):
                llm("Hello")
    assert len(host.requests) == 1


def test_a_thread_of_the_users_code_reaches_the_model() -> None:
    replies: list[str] = []
    with call("fine"):
        thread = threading.Thread(target=lambda: replies.append(llm("Hello")))
        thread.start()
        thread.join()
    assert replies == ["fine"]


@pytest.mark.parametrize("helper", [lambda: llm("Hello"), observation, service_cost])
def test_outside_a_call_a_helper_says_how_to_run_it(helper: Callable[[], object]) -> None:
    with pytest.raises(SkynetError, match=r"outside a metric.*skynet check"):
        helper()


def test_a_metric_reads_what_was_measured() -> None:
    measured = Observation(12.5, 0.25, 1, 10, 3)
    with call(observation=measured):
        assert observation() == measured
        assert service_cost() == 0.25


def test_without_a_target_call_nothing_is_measured() -> None:
    with call():
        assert observation() == Observation(None, None, 0, 0, 0)
        assert service_cost() is None


@pytest.mark.parametrize("helper", [observation, service_cost])
def test_inside_run_there_is_no_measurement_yet(helper: Callable[[], object]) -> None:
    with call(role="target"), pytest.raises(SkynetError, match=r"inside run\(\), which is still being measured"):
        helper()


def test_the_observation_cannot_be_changed() -> None:
    with call(observation=Observation(1.0)), pytest.raises(AttributeError):
        observation().elapsed_ms = 0.0  # type: ignore[misc]


def test_unmeasured_works_anywhere() -> None:
    assert unmeasured("no reference") == Unmeasured("no reference")


@pytest.mark.parametrize("reason", ["", " ", None, 3])
def test_unmeasured_needs_a_reason(reason: Any) -> None:
    with pytest.raises(SkynetError, match="needs a reason"):
        unmeasured(reason)
