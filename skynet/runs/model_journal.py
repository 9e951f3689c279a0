"""The gateway behind the journal: a call that was paid is served from the books, and told the same way again."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from skynet.evaluation.guards import Stop
from skynet.models.backend import Message
from skynet.models.calls import CallOptions, Reply, Scope, current_place
from skynet.models.faults import ProviderError
from skynet.models.gateway import ATTEMPT_SECONDS, Gateway
from skynet.models.ledger import Role
from skynet.models.open_calls import OpenCalls
from skynet.models.prices import Price
from skynet.models.retry import Cancelled, WaitClock
from skynet.runs.fault import StoreError
from skynet.runs.journal import Journal


class JournaledModels:
    """The models of a run. A call's key is its place (one evaluation, or one step of an engine), role, messages,
    parameters, and the how-manyth such call in that place; the order in which calls arrive never matters."""

    def __init__(self, gateway: Gateway, journal: Journal) -> None:
        self.gateway = gateway
        self._journal = journal
        self._lock = threading.Lock()
        self._counts: dict[str, Counter[str]] = {}
        self._calls = OpenCalls()

    def has(self, role: Role) -> bool:
        """Whether a model is set for the role."""
        return self.gateway.has(role)

    def describe(self, role: Role) -> dict[str, Any]:
        """Return name and parameters of the role's model."""
        return self.gateway.describe(role)

    def price(self, role: Role) -> Price | None:
        """Return the price of the role's model."""
        return self.gateway.price(role)

    def check(self, role: Role) -> None:
        """Raise SkynetError where the role's model cannot be used, without asking it."""
        self.gateway.check(role)

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
        """Return the reply from the books, or ask the gateway and store what came, a provider's failure too."""
        options: dict[str, Any] = {
            "schema": schema, "choices": choices, "temperature": temperature, "max_tokens": max_tokens,
            "tools": tools, "tool_choice": tool_choice, "extra": extra,
        }  # fmt: skip
        key = self._key(role, messages, options)
        body = self._journal.get("model", key)
        if body is not None:
            return _told(body)
        waits = {"cancel": cancel, "timeout": timeout, "clock": clock, "given_up": given_up, "over": self._calls.over}
        try:
            with self._calls.call():
                return self._asked(key, role, messages, scope or Scope(), options, waits)
        except StoreError as error:  # no failure of the provider's: the run cannot go on without its store
            raise Stop("error", str(error)) from error

    def _asked(
        self,
        key: str,
        role: Role,
        messages: Sequence[Message],
        scope: Scope,
        options: dict[str, Any],
        waits: dict[str, Any],
    ) -> Reply:
        bound = self.gateway.bound(role, messages, CallOptions(**options), scope)
        self._journal.begin(
            "model",
            key,
            {"usd": bound.usd, "tokens": bound.tokens, "role": role},
            version=scope.version,
            case_id=scope.case,
            role=role,
            model=bound.model,
            scope=current_place.get(),
        )
        try:
            reply = self.gateway.complete(role, messages, scope=scope, **waits, **options)
        except ProviderError as error:
            if error.hopeless:  # the run ends now; a resumed one asks anew
                self._journal.cancel("model", key)
                raise
            self._end(key, {"error": _error_fields(error)}, status="failed")
            raise
        except BaseException as stop:
            if isinstance(stop, Cancelled) and stop.sent:
                self._journal.leave("model", key)
            else:
                self._journal.cancel("model", key)
            raise
        self._end(
            key, {"reply": _reply_fields(reply)}, status="ok", cost_usd=reply.cost_usd,
            prompt_tokens=reply.prompt_tokens,
            completion_tokens=reply.completion_tokens, latency_ms=reply.latency_ms,
        )  # fmt: skip
        return reply

    def _end(self, key: str, body: dict[str, Any], **columns: Any) -> None:
        self._journal.end("model", key, body, **columns)

    def _key(self, role: Role, messages: Sequence[Message], options: Mapping[str, Any]) -> str:
        place = current_place.get()
        asked = json.dumps([role, self.gateway.describe(role), list(messages), options], sort_keys=True, default=list)
        content = hashlib.sha256(asked.encode("utf-8", "surrogatepass")).hexdigest()
        with self._lock:
            counts = self._counts.setdefault(place, Counter())
            number = counts[content]
            counts[content] += 1
        return hashlib.sha256(f"{place}|{content}|{number}".encode()).hexdigest()[:32]

    def forget(self, place: str) -> None:
        """Drop the counts of a place whose work is done."""
        with self._lock:
            self._counts.pop(place, None)

    def settle(self, cancel: threading.Event) -> list[str]:
        """Refuse further calls, and wait for what a case or an engine left under way: it is paid, so it is booked.

        What was not sent yet is never sent. Ctrl-C sets `cancel`, and so does a call that does not come back in time:
        it gives up all that is left, which stays charged as reserved. Returns the notes for the run's report.
        """
        try:
            if self._calls.end(ATTEMPT_SECONDS):
                return []
        except KeyboardInterrupt:
            cancel.set()
            return []
        cancel.set()
        return [
            f"A model call that was under way at the run's end did not come back within {ATTEMPT_SECONDS:.0f} s. What "
            "it cost is not in this report; a resumed run counts it at the most that it may have cost."
        ]

    def close(self) -> None:
        """Close the gateway."""
        self.gateway.close()


_REPLY = tuple(item.name for item in fields(Reply))


def _reply_fields(reply: Reply) -> dict[str, Any]:
    return {name: getattr(reply, name) for name in _REPLY}


def _error_fields(error: ProviderError) -> dict[str, Any]:
    return {
        "message": str(error), "model": error.model, "permanent": error.permanent, "status": error.status,
        "attempts": error.attempts, "words": error.words,
    }  # fmt: skip


def _told(body: Mapping[str, Any]) -> Reply:
    if "error" in body:
        raise ProviderError(**body["error"])
    reply = dict(body["reply"])
    reply["tool_calls"] = tuple(reply["tool_calls"])
    return Reply(**reply)
