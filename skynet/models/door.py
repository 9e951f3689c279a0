"""What a target, a metric and an engine need of the models: the gateway itself, or the gateway behind a journal."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from skynet.models.backend import Message
from skynet.models.calls import Reply, Scope
from skynet.models.ledger import Role
from skynet.models.prices import Price
from skynet.models.retry import WaitClock


class ModelDoor(Protocol):
    """Answers calls of the roles task, reflection and metric; see `Gateway.complete`."""

    def has(self, role: Role) -> bool:
        """Whether a model is set for the role."""
        ...

    def describe(self, role: Role) -> dict[str, Any]:
        """Return name and parameters of the role's model."""
        ...

    def price(self, role: Role) -> Price | None:
        """Return the price of the role's model, None when nobody names one."""
        ...

    def check(self, role: Role) -> None:
        """Raise SkynetError where the role's model cannot be used, without asking it."""
        ...

    def complete(
        self,
        role: Role,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        choices: Sequence[str] | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
        tool_choice: str | Mapping[str, Any] | None = None,
        extra: Mapping[str, Any] | None = None,
        scope: Scope | None = None,
        cancel: threading.Event | None = None,
        timeout: float | None = None,
        clock: WaitClock | None = None,
        given_up: threading.Event | None = None,
    ) -> Reply:
        """Return the model's reply."""
        ...

    def close(self) -> None:
        """End all waits and refuse further calls."""
        ...
