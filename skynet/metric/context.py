"""The call that user code is inside of: its role, its way to a model, and what Skynet measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from skynet.errors import SkynetError


class Stopped(BaseException):
    """The budget or the user ended the call. `except Exception` cannot catch it; what is returned then is dropped."""


class ModelError(SkynetError):
    """The provider failed after its retries; the text holds its words."""


class ReplyError(ModelError):
    """The model answered twice, but not in the shape that `schema` asks for."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What Skynet measured of the target call; None where nothing was measured."""

    elapsed_ms: float | None = None
    cost_usd: float | None = None
    model_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(slots=True)
class Call:
    """One running `run()` or `score()`.

    `ask` takes a request to the host and returns `{"text"}`, `{"error"}` or `{"stop"}`; any thread may call it.
    `stopped` is set by the first stop: from then on no request is sent.
    """

    role: Literal["target", "metric"]
    ask: Callable[[dict[str, Any]], dict[str, Any]]
    observation: Observation | None = None
    stopped: str | None = None


# A plain global, not a context variable: threads that the user's code starts belong to the same call.
_current: Call | None = None


def enter(call: Call) -> None:
    """Make `call` the current one. A worker runs one call at a time."""
    global _current
    _current = call


def leave() -> None:
    """End the current call."""
    global _current
    _current = None


def current() -> Call | None:
    """Return the call that user code is inside of, or None."""
    return _current
