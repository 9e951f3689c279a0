"""What the gateway asks of a backend (http, LiteLLM, the embedded model), and how a backend reports a fault."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Message = Mapping[str, Any]
Reach = Literal["attempt", "request", "model"]  # what a fault spoils


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One chat completion.

    `response_format` is what goes over the wire; `choices` and `schema` say the same for a backend with grammars.
    `extra` holds further OpenAI parameters (top_p, stop, seed, ...). `timeout` is in seconds, for one attempt.
    """

    model: str
    messages: tuple[Message, ...]
    max_tokens: int
    temperature: float | None = None
    choices: tuple[str, ...] | None = None
    schema: Mapping[str, Any] | None = None
    response_format: Mapping[str, Any] | None = None
    tools: tuple[Mapping[str, Any], ...] | None = None
    tool_choice: str | Mapping[str, Any] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    timeout: float = 300.0


@dataclass(frozen=True, slots=True)
class RawReply:
    """A backend's reply. Tokens are None when it did not count them.

    `latency_ms` is the backend's own clock, for one that had to load something first; None: the gateway's clock counts.
    """

    text: str
    prompt_tokens: int | None
    completion_tokens: int | None
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    finish_reason: str = "stop"
    latency_ms: float | None = None


class ProviderFault(Exception):
    """One failed attempt. `reach`: `attempt` is tried again, after `retry_after` seconds where the provider named them;
    `request` fails the case that asked, and another may pass; `model` would meet every request, so the run ends.

    `words` are the provider's; the gateway removes keys from them before anybody sees them.
    """

    def __init__(
        self, words: str, reach: Reach, *, status: int | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(words)
        self.words = words
        self.reach = reach
        self.status = status
        self.retry_after = retry_after


class Backend(Protocol):
    """Makes one attempt; called from any thread, at most as many at a time as the model's concurrency limit allows."""

    def complete(self, request: ModelRequest) -> RawReply:
        """Return the reply or raise ProviderFault."""

    def close(self) -> None:
        """Free what the backend holds. Calls made afterwards may fail."""
