"""The values around one gateway call: whose it is, what it may cost, what came back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from skynet.models.backend import Message, ModelRequest
from skynet.models.ledger import Role
from skynet.models.wire import choice_format, schema_format

if TYPE_CHECKING:
    from skynet.models.prices import Price
    from skynet.spec import ModelSpec

# Whose model calls these are, as a journal keys them: one evaluation, or one step of an engine. Carried by context, so
# that the order in which calls arrive never matters.
current_place: ContextVar[str] = ContextVar("current_place", default="")

MAX_TOKENS = 2048  # where neither the spec nor the call names a limit


@dataclass(frozen=True, slots=True)
class Scope:
    """The case and version that a call is made for; None outside of one."""

    case: str | None = None
    version: str | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """An answered call.

    `cost_usd` is None without a price or a token count. `latency_ms` is the successful attempt's; `waited_ms` is the
    rest: the queue, failed attempts and the waits between them. `tool_calls` are OpenAI's objects.
    """

    text: str
    prompt_tokens: int | None
    completion_tokens: int | None
    cost_usd: float | None
    latency_ms: float
    waited_ms: float
    model: str
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    finish_reason: str = "stop"


@dataclass(frozen=True, slots=True)
class ReserveRequest:
    """Upper bounds of a call that is about to be made; `usd` is None when the model has no price."""

    role: Role
    model: str
    scope: Scope
    prompt_tokens: int
    max_tokens: int
    usd: float | None

    @property
    def tokens(self) -> int:
        """The most tokens that the call can take, read and written."""
        return self.prompt_tokens + self.max_tokens


@dataclass(frozen=True, slots=True)
class CallOptions:
    """What a caller asks of a call beside its messages. None leaves the spec's `params` in force."""

    schema: Mapping[str, Any] | None = None
    choices: Sequence[str] | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    tools: Sequence[Mapping[str, Any]] | None = None
    tool_choice: str | Mapping[str, Any] | None = None
    extra: Mapping[str, Any] | None = None

    def response_format(self, params: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the format to send: of the choices, the schema, or the parameters; ValueError when two are given."""
        own = params.get("response_format")
        given = [name for name, value in (("schema", self.schema), ("choices", self.choices)) if value is not None]
        if len(given) == 2 or (given and (self.extra or {}).get("response_format") is not None):
            raise ValueError(f"a call takes one of schema, choices and response_format, not {given} and another")
        if self.choices is not None:
            return choice_format(self.choices)
        return schema_format(self.schema) if self.schema is not None else own


def build_request(
    spec: ModelSpec, messages: Sequence[Message], options: CallOptions, timeout: float
) -> ModelRequest:
    """Join the spec's parameters and the call's, which win."""
    params = {**spec.params, **(options.extra or {})}
    response_format = options.response_format(params)
    params.pop("response_format", None)
    temperature, limit = params.pop("temperature", None), params.pop("max_tokens", MAX_TOKENS)
    limit = options.max_tokens or params.get("max_completion_tokens") or limit
    if "max_completion_tokens" in params:  # the name some models insist on
        params["max_completion_tokens"] = limit
    return ModelRequest(
        model=spec.name,
        messages=tuple(messages),
        max_tokens=limit,
        temperature=options.temperature if options.temperature is not None else temperature,
        choices=None if options.choices is None else tuple(options.choices),
        schema=options.schema if options.schema is not None else _inner_schema(response_format, options),
        response_format=response_format,
        tools=None if options.tools is None else tuple(options.tools),
        tool_choice=options.tool_choice,
        extra=params,
        timeout=timeout,
    )


def upper_bound(role: Role, request: ModelRequest, price: Price | None, scope: Scope) -> ReserveRequest:
    """Bound a call: no tokenizer makes more tokens than the prompt has UTF-8 bytes."""
    sent = json.dumps([request.messages, request.tools, request.response_format], ensure_ascii=False, default=str)
    prompt = len(sent.encode("utf-8", "surrogatepass"))
    usd = None if price is None else price.cost(prompt, request.max_tokens)
    return ReserveRequest(role, request.model, scope, prompt, request.max_tokens, usd)


def _inner_schema(response_format: Mapping[str, Any] | None, options: CallOptions) -> Mapping[str, Any] | None:
    if response_format is None or options.choices is not None:
        return None
    inner = response_format.get("json_schema")
    schema = inner.get("schema") if isinstance(inner, Mapping) else None
    return schema if isinstance(schema, Mapping) else None
