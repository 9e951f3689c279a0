"""The endpoint's side of the OpenAI format: requests in, completions, stream chunks and errors out."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from skynet.errors import nearest
from skynet.models.backend import Message
from skynet.models.calls import Reply

# Others are refused by name: they would be dropped silently, or could turn the host's call elsewhere (api_base).
PASSED_ON = frozenset(
    {
        "frequency_penalty",
        "logit_bias",
        "parallel_tool_calls",
        "presence_penalty",
        "reasoning_effort",
        "response_format",
        "seed",
        "stop",
        "top_p",
        "user",
        "verbosity",
    }
)
OWN = frozenset(
    {
        "max_completion_tokens",
        "max_tokens",
        "messages",
        "model",
        "n",
        "stream",
        "stream_options",
        "temperature",
        "tool_choice",
        "tools",
    }
)
MOST_REPLIES = 128  # OpenAI's own limit for n
MOST_LEVELS = 200  # what is nested more deeply could be read, but not written again
_TOO_DEEP = f"The body is nested more than {MOST_LEVELS} levels deep."


class BadRequest(Exception):
    """A request that the endpoint cannot take; `param` is the parameter at fault."""

    def __init__(self, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.param = param


@dataclass(frozen=True, slots=True)
class EndpointRequest:
    """A chat completion that a program asked for, with `model` as it named it. None: the program left it out."""

    model: str
    messages: tuple[Message, ...]
    temperature: float | None = None
    max_tokens: int | None = None
    tools: tuple[Mapping[str, Any], ...] | None = None
    tool_choice: str | Mapping[str, Any] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    n: int = 1
    stream: bool = False
    stream_usage: bool = False

    def options(self) -> dict[str, Any]:
        """Return the keyword arguments of `Gateway.complete` that say the same."""
        return {
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "tools": self.tools,
            "tool_choice": self.tool_choice,
            "extra": self.extra,
        }


def parse_request(content: bytes) -> EndpointRequest:
    """Read a request's body. Raises BadRequest that names the parameter at fault."""
    try:
        body = json.loads(content)
    except ValueError as error:
        raise BadRequest(f"The body is not valid JSON: {error}") from None
    except RecursionError:
        raise BadRequest(_TOO_DEEP) from None
    if content.count(b"[") + content.count(b"{") > MOST_LEVELS and _is_deeper(body, MOST_LEVELS):
        raise BadRequest(_TOO_DEEP)
    if not isinstance(body, dict):
        raise BadRequest(f"The body must be a JSON object, not {type(body).__name__}.")
    known = OWN | PASSED_ON
    body = {name: value for name, value in body.items() if value is not None and (value is not False or name in known)}
    for name in sorted(body.keys() - known):
        raise BadRequest(f"The parameter {name!r} is not supported here.{nearest(name, known)}", name)
    _check(body)
    return EndpointRequest(
        model=body.get("model", ""),
        messages=tuple(body["messages"]),
        temperature=body.get("temperature"),
        max_tokens=body.get("max_completion_tokens", body.get("max_tokens")),
        tools=tuple(body["tools"]) if body.get("tools") else None,
        tool_choice=body.get("tool_choice"),
        extra={name: body[name] for name in PASSED_ON & body.keys()},
        n=body.get("n", 1),
        stream=body.get("stream", False),
        stream_usage=body.get("stream_options", {}).get("include_usage") is True,
    )


def _is_deeper(value: object, levels: int) -> bool:
    if not isinstance(value, list | dict):
        return False
    parts = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_is_deeper(part, levels - 1) for part in parts)


def _check(body: Mapping[str, Any]) -> None:
    messages = body.get("messages")
    if not _objects(messages) or not messages:
        raise BadRequest("'messages' must be a list of at least one object with 'role' and 'content'.", "messages")
    right: dict[str, tuple[bool, str]] = {
        "model": (isinstance(body.get("model", ""), str), "a string"),
        "temperature": (_number(body.get("temperature", 0)), "a number"),
        "max_tokens": (_whole(body.get("max_tokens", 1)), "a whole number, 1 or more"),
        "max_completion_tokens": (_whole(body.get("max_completion_tokens", 1)), "a whole number, 1 or more"),
        "tools": (_objects(body.get("tools", [])), "a list of objects"),
        "tool_choice": (isinstance(body.get("tool_choice", ""), str | dict), "a string or an object"),
        "response_format": (isinstance(body.get("response_format", {}), dict), "an object"),
        "n": (_whole(body.get("n", 1)) and body.get("n", 1) <= MOST_REPLIES, f"a whole number, 1 to {MOST_REPLIES}"),
        "stream": (isinstance(body.get("stream", False), bool), "true or false"),
        "stream_options": (isinstance(body.get("stream_options", {}), dict), "an object"),
    }
    for name, (fine, wanted) in right.items():
        if not fine:
            raise BadRequest(f"{name!r} must be {wanted}, not {body[name]!r}.", name)


def _objects(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(part, dict) for part in value)


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def completion(replies: Sequence[Reply]) -> dict[str, Any]:
    """Return the chat completion that holds one choice for each reply; usage is absent when one was not counted."""
    choices = [
        {"index": index, "message": _message(reply), "logprobs": None, "finish_reason": reply.finish_reason}
        for index, reply in enumerate(replies)
    ]
    body = _envelope("chat.completion", replies[0].model) | {"choices": choices}
    usage = _usage(replies)
    return body if usage is None else body | {"usage": usage}


def chunks(replies: Sequence[Reply], with_usage: bool) -> Iterator[str]:
    """Yield the server-sent events of a streamed completion, `[DONE]` included. The replies are whole already."""
    envelope = _envelope("chat.completion.chunk", replies[0].model)
    for index, reply in enumerate(replies):
        delta = _message(reply)
        if "tool_calls" in delta:
            delta["tool_calls"] = [{"index": at, **call} for at, call in enumerate(delta["tool_calls"])]
        yield _event(envelope | {"choices": [{"index": index, "delta": delta, "finish_reason": None}]})
        yield _event(envelope | {"choices": [{"index": index, "delta": {}, "finish_reason": reply.finish_reason}]})
    if with_usage:
        yield _event(envelope | {"choices": [], "usage": _usage(replies)})
    yield "data: [DONE]\n\n"


def error_body(message: str, kind: str, code: str | None = None, param: str | None = None) -> dict[str, Any]:
    """Return an error in OpenAI's shape."""
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def model_list(names: Sequence[str]) -> dict[str, Any]:
    """Return the answer to `/v1/models`."""
    return {
        "object": "list",
        "data": [{"id": name, "object": "model", "created": 0, "owned_by": "skynet"} for name in names],
    }


def _message(reply: Reply) -> dict[str, Any]:
    calls = [dict(call) for call in reply.tool_calls]
    content = None if calls and not reply.text else reply.text
    return {"role": "assistant", "content": content} | ({"tool_calls": calls} if calls else {})


def _envelope(kind: str, model: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{uuid.uuid4().hex}", "object": kind, "created": int(time.time()), "model": model}


def _usage(replies: Sequence[Reply]) -> dict[str, int] | None:
    prompt, written = 0, 0
    for reply in replies:
        if reply.prompt_tokens is None or reply.completion_tokens is None:
            return None
        prompt, written = prompt + reply.prompt_tokens, written + reply.completion_tokens
    return {"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": prompt + written}


def _event(data: Mapping[str, Any]) -> str:
    return f"data: {json.dumps(data)}\n\n"
