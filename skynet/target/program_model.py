"""The run's models as DSPy sees them: a `dspy.LM` whose engine hands each request to the host.

This module runs inside user workers and, for the engine `dspy`, in the host.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from skynet.errors import SkynetError

Ask = Callable[[dict[str, Any]], Mapping[str, Any]]


def language_model(name: str, ask: Ask) -> Any:
    """Return the `dspy.LM` without a cache and without retries of its own; the gateway has both.

    `ask` takes a request (`messages` and, where set, `temperature`, `max_tokens`, `tools`, `tool_choice` and `extra`)
    and returns `text`, `tool_calls`, `finish_reason`, `prompt_tokens` and `completion_tokens`.
    """
    import dspy

    engine = AskEngine(ask)
    return dspy.LM(name, engine=engine, async_engine=AsyncAskEngine(engine), cache=False, num_retries=0)


class _Shared:
    """An engine holds the way to the host, of which there is one: copies of a model share it."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self

    def dump_state(self) -> dict[str, Any]:
        """Nothing: a program's state names no model. dspy dumps the model all the same, before it is taken out."""
        return {}

    @classmethod
    def load_state(cls, state: dict[str, Any]) -> Any:
        """Refuse: the way to the host belongs to one run."""
        raise SkynetError("a model of a run cannot be loaded from a state; set the program's own with set_lm()")


class AskEngine(_Shared):
    """An engine object of `dspy.LM`: one canonical request in, one response out."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def complete(self, request: Any) -> Any:
        """Ask the host. What `ask` raises passes."""
        from dspy.clients.lm15_boundary import request_kwargs
        from dspy.lm15 import response_from_openai_chat

        answer = self._ask(to_wire(request_kwargs(request, "chat")))
        return response_from_openai_chat(to_openai(answer, request.model), model=request.model)


class AsyncAskEngine(_Shared):
    """The same for programs that await their predictors."""

    def __init__(self, engine: AskEngine) -> None:
        self._engine = engine

    async def complete(self, request: Any) -> Any:
        """Ask the host from a thread."""
        return await asyncio.to_thread(self._engine.complete, request)


def to_wire(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a chat completion's body as the host takes it."""
    rest = dict(body)
    request: dict[str, Any] = {"messages": rest.pop("messages")}
    limits = [rest.pop(key, None) for key in ("max_tokens", "max_completion_tokens")]
    limit = next((value for value in limits if value is not None), None)
    named = {"max_tokens": limit, **{key: rest.pop(key, None) for key in ("temperature", "tools", "tool_choice")}}
    request.update({key: value for key, value in named.items() if value is not None})
    if rest:
        request["extra"] = rest
    return request


def to_openai(answer: Mapping[str, Any], model: str) -> dict[str, Any]:
    """Return the host's answer as a chat completion."""
    calls = [dict(call) for call in answer.get("tool_calls") or ()]
    message = {"role": "assistant", "content": answer["text"], **({"tool_calls": calls} if calls else {})}
    read, written = answer.get("prompt_tokens") or 0, answer.get("completion_tokens") or 0
    return {
        "id": None,
        "model": model,
        "choices": [{"index": 0, "finish_reason": answer.get("finish_reason") or "stop", "message": message}],
        "usage": {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written},
    }
