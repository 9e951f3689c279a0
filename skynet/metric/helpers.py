"""What metric files and `run()` import from skynet: llm, observation, service_cost, unmeasured."""

from __future__ import annotations

import json
from typing import Any

from skynet.errors import SkynetError
from skynet.metric.context import Call, ModelError, Observation, ReplyError, Stopped, current
from skynet.metric.contract import Unmeasured
from skynet.metric.numeric import NotANumber, finite
from skynet.metric.schema import Mismatch, Schema
from skynet.metric.show import show

HOW_TO_RUN = (
    "Skynet provides it while it runs the project: use `skynet check` in the project's folder, "
    "or `skynet check --metric metric.py --output TEXT` for a metric alone."
)
_ROLES = ("system", "user", "assistant")


def llm(
    prompt: str | None = None,
    input: Any = None,
    *,
    messages: list[dict[str, str]] | None = None,
    schema: Any = None,
    temperature: float | None = None,
    max_tokens: int | None = None,
) -> Any:
    """Ask the metric model (inside `score`) or the task model (inside `run`), from any thread.

    With `input`, the prompt is the system message and the input (text, else as JSON) the user message. `messages`
    are given instead of both. Returns text, or with `schema` (pydantic model class or JSON Schema) the validated
    object. Raises ModelError when the provider failed, ReplyError when two replies did not fit the schema.
    """
    wanted = None if schema is None else Schema(schema)
    request = {
        "messages": _messages(prompt, input, messages),
        "schema": None if wanted is None else wanted.json,
        "temperature": _temperature(temperature),
        "max_tokens": _max_tokens(max_tokens),
    }
    call = current()
    if call is None:
        raise SkynetError(f"llm() was called outside a metric or run(), where no model is connected. {HOW_TO_RUN}")
    return _ask(call, request) if wanted is None else _ask_for_object(call, request, wanted)


def observation() -> Observation:
    """Return what Skynet measured of the target call that made this output. Only inside `score`."""
    return _observed("observation()")


def service_cost() -> float | None:
    """Return the dollars that the target call cost, None where that is unknown. Only inside `score`."""
    return _observed("service_cost()").cost_usd


def unmeasured(reason: str) -> Unmeasured:
    """Return the value that says "this case cannot be scored"; `score` returns it instead of a pair."""
    if not isinstance(reason, str) or not reason.strip():
        raise SkynetError(f'unmeasured() needs a reason, such as unmeasured("no reference"); it got {show(reason)}.')
    return Unmeasured(reason)


def _observed(name: str) -> Observation:
    call = current()
    if call is None:
        raise SkynetError(f"{name} was called outside a metric call: nothing was measured here. {HOW_TO_RUN}")
    if call.role != "metric":
        raise SkynetError(f"{name} was called inside run(), which is still being measured. Call it in score().")
    return call.observation or Observation()


def _ask(call: Call, request: dict[str, Any]) -> str:
    text: str = answer_of(call, request)["text"]
    return text


def answer_of(call: Call, request: dict[str, Any]) -> dict[str, Any]:
    """Return the host's whole answer to a request: `text`, `tool_calls`, `finish_reason` and the token counts.

    Raises ModelError when the provider failed, Stopped when the call was ended.
    """
    if call.stopped is not None:
        raise Stopped(call.stopped)  # user code caught the first one; the doors stay closed
    reply = call.ask(request)
    if "stop" in reply:
        call.stopped = reply["stop"]
        raise Stopped(call.stopped)
    if "error" in reply:
        raise ModelError(reply["error"])
    return reply


def _ask_for_object(call: Call, request: dict[str, Any], schema: Schema) -> Any:
    """Ask, and once more with the fault named when the reply does not fit."""
    reply = _ask(call, request)
    try:
        return schema.read(reply)
    except Mismatch as mismatch:
        again = (
            f"That reply cannot be used: {mismatch}. Reply again with nothing but JSON that fits this JSON Schema: "
            f"{json.dumps(schema.json, ensure_ascii=False)}"
        )
    turns = [{"role": "assistant", "content": reply}, {"role": "user", "content": again}]
    second = _ask(call, {**request, "messages": [*request["messages"], *turns]})
    try:
        return schema.read(second)
    except Mismatch as mismatch:
        raise ReplyError(
            f"The model's reply does not fit `schema`, also when asked again: {mismatch}. It replied {show(second)}. "
            "Name the fields in the prompt, or use a model that follows schemas."
        ) from mismatch


def _messages(prompt: object, input: object, messages: object) -> list[dict[str, str]]:
    if messages is not None:
        if prompt is not None or input is not None:
            raise SkynetError("llm() takes `messages` alone, or a prompt with or without `input`; it got both.")
        return _checked_messages(messages)
    if not isinstance(prompt, str) or not prompt.strip():
        got = "none" if prompt is None else show(prompt)
        raise SkynetError(f"llm() needs a prompt of text as its first argument, or messages=[...]; it got {got}.")
    if input is None:
        return [{"role": "user", "content": prompt}]
    return [{"role": "system", "content": prompt}, {"role": "user", "content": _as_text(input)}]


def _checked_messages(messages: object) -> list[dict[str, str]]:
    if not isinstance(messages, list | tuple) or not messages:
        raise SkynetError(
            '`messages` of llm() must be a list such as [{"role": "user", "content": "..."}]; '
            f"it is {show(messages)}."
        )
    checked: list[dict[str, str]] = []
    for index, message in enumerate(messages):
        where = f"messages[{index}]"
        if not isinstance(message, dict) or set(message) != {"role", "content"}:
            raise SkynetError(f'{where} of llm() must be a dict with "role" and "content"; it is {show(message)}.')
        if message["role"] not in _ROLES:
            raise SkynetError(f"{where} of llm() has the role {show(message['role'])}; use one of {', '.join(_ROLES)}.")
        if not isinstance(message["content"], str):
            raise SkynetError(f"The content of {where} of llm() must be text; it is {show(message['content'])}.")
        checked.append({"role": message["role"], "content": message["content"]})
    return checked


def _as_text(input: object) -> str:
    if isinstance(input, str):
        return input
    try:
        return json.dumps(input, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise SkynetError(f"`input` of llm() must be text or fit into JSON; it is {show(input)} ({error}).") from error


def _temperature(value: object) -> float | None:
    if value is None:
        return None
    try:
        number = finite(value)
    except NotANumber as fault:
        raise SkynetError(f"`temperature` of llm() {fault}. It must be a number of 0 or more.") from None
    if number < 0:
        raise SkynetError(f"`temperature` of llm() is {number}. It must be a number of 0 or more.")
    return number


def _max_tokens(value: object) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value > 0):
        return value
    raise SkynetError(f"`max_tokens` of llm() must be a positive int; it is {show(value)}.")
