"""A call for tests: what a worker enters before it runs user code, with scripted answers of the host."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from skynet.metric.context import Call, Observation, enter, leave


class Host:
    """Answers requests from a list of replies, and keeps the requests."""

    def __init__(self, *replies: str | dict[str, Any]) -> None:
        self._replies = list(replies)
        self.requests: list[dict[str, Any]] = []

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        self.requests.append(request)
        reply = self._replies.pop(0)
        return {"text": reply} if isinstance(reply, str) else reply


@contextmanager
def call(
    *replies: str | dict[str, Any],
    role: Literal["target", "metric"] = "metric",
    observation: Observation | None = None,
) -> Iterator[Host]:
    """Be inside a call of `role` for the block."""
    host = Host(*replies)
    enter(Call(role, host.ask, observation))
    try:
        yield host
    finally:
        leave()
