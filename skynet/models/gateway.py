"""The one door to models: roles, queueing, retries, prices and books. Keys stay behind it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skynet.errors import SkynetError
from skynet.models.backend import Backend, Message, ModelRequest, ProviderFault, RawReply
from skynet.models.calls import MAX_TOKENS, CallOptions, Reply, ReserveRequest, Scope, build_request, upper_bound
from skynet.models.faults import ProviderError, provider_error
from skynet.models.http import HttpBackend, HttpClient
from skynet.models.keys import Keys
from skynet.models.ledger import Ledger, LedgerEntry, Role
from skynet.models.prices import LOCAL_PREFIX, Price, price_of
from skynet.models.remote import RemoteBackend, load_in_background, require_usable
from skynet.models.retry import Halt, RetryPolicy, WaitClock, with_retries
from skynet.models.wire import shown_words

if TYPE_CHECKING:
    from skynet.spec import ModelSpec, ModelsSpec

Settle = Callable[[LedgerEntry | None], None]
Reserve = Callable[[ReserveRequest], Settle]
ROLES: tuple[Role, ...] = ("task", "reflection", "metric")
CONCURRENCY = 32  # calls of one model at a time
ATTEMPT_SECONDS = 300.0
NO_KEY = "No key was sent: name the variable that holds it as api_key_env of the model under [models]."
ADVICE = {
    401: "Check the key in {key}.",
    402: "The account behind {key} has no credit.",
    403: "Check what the key in {key} is allowed to do.",
    404: "Check the model's name and its base_url under [models].",
}


@dataclass(frozen=True, slots=True)
class Line:
    """One model's backend with its queue; roles with the same model share it."""

    backend: Backend
    slots: threading.Semaphore


@dataclass(slots=True)
class Timing:
    """The clock over the attempts of one call."""

    started: float
    clock: WaitClock | None = None
    attempts: int = 0
    latency_ms: float = 0.0

    def waited_ms(self) -> float:
        return max((time.perf_counter() - self.started) * 1000 - self.latency_ms, 0.0)

    def failed(self, began: float) -> None:
        """Take a failed attempt, which began then, off the caller's clock."""
        if self.clock is not None:
            self.clock.leave_out(time.perf_counter() - began)


class Gateway:
    """Answers calls of the roles task, reflection and metric, which is the reflection model where the spec has none.

    `reserve` is asked before each call and may raise, which ends the call before it is made; what it returns is called
    once, with the ledger entry or with None when nothing was answered. Safe to use from any thread.
    """

    def __init__(
        self,
        models: ModelsSpec,
        root: Path,
        *,
        ledger: Ledger,
        environ: Mapping[str, str],
        reserve: Reserve | None = None,
        retry: RetryPolicy | None = None,
        concurrency: int = CONCURRENCY,
        timeout: float = ATTEMPT_SECONDS,
    ) -> None:
        self._specs: dict[Role, ModelSpec | None] = {
            "task": models.task,
            "reflection": models.reflection,
            "metric": models.metric if models.metric is not None else models.reflection,
        }
        self._root = root
        self._environ = environ
        self._ledger = ledger
        self._keys = Keys(environ, root / ".env")
        self._reserve = reserve
        self._retry = retry if retry is not None else RetryPolicy()
        self._concurrency = concurrency
        self._timeout = timeout
        self._client = HttpClient()
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self._lines: dict[tuple[str, str | None, str | None], Line] = {}

    def has(self, role: Role) -> bool:
        """Whether a model is set for the role."""
        return self._specs[role] is not None

    def describe(self, role: Role) -> dict[str, Any]:
        """Return name and parameters of the role's model, as a fingerprint knows them: no key, price or address."""
        spec = self._spec(role)
        return {"name": spec.name, "params": {"max_tokens": MAX_TOKENS, **spec.params}}

    def price(self, role: Role) -> Price | None:
        """Return the price of the role's model in dollars per million tokens, or None when nobody names one."""
        return price_of(self._spec(role))

    def check(self, role: Role) -> None:
        """Raise SkynetError where the role's model cannot be used: no key, no file, no such name. It asks no model.

        For a model of a provider that is not known at once this waits for LiteLLM, which takes seconds to import.
        """
        spec = self._spec(role)
        try:
            if spec.name.startswith(LOCAL_PREFIX):
                from skynet.models.local import find_model

                find_model(spec.name, self._root, self._environ)
                return
            key = self._key(spec)
            if spec.base_url is None:
                require_usable(spec.name, key, self._keys)
        except ProviderFault as fault:
            raise self._error(role, spec, fault, 0) from None

    def prepare(self) -> None:
        """Start what takes long (importing LiteLLM) on a thread, when a role needs it."""
        if any(spec is not None and _is_remote(spec) for spec in self._specs.values()):
            load_in_background()

    def redact(self, text: str) -> str:
        """Return `text` without the keys that this gateway knows."""
        return self._keys.redact(text)

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
        over: threading.Event | None = None,
    ) -> Reply:
        """Return the model's reply. `timeout` is in seconds, for each attempt; `clock` does not count our waits.

        `given_up` is set when nobody waits for the reply any more, `over` when the whole run ends: then nothing is
        sent, and what was sent is booked.
        Raises ProviderError when the provider refused or kept failing, Cancelled when `cancel` was set, or when the
        gateway closed or the call was given up while waiting, SkynetError when the role has no model or its key is
        missing, and what `reserve` raises.
        """
        options = CallOptions(schema, choices, temperature, max_tokens, tools, tool_choice, extra)
        spec, scope = self._spec(role), scope or Scope()
        seconds = self._timeout if timeout is None else min(timeout, self._timeout)
        request = build_request(spec, messages, options, seconds)
        line = self._line(spec)
        halt = Halt(self._closed, cancel, given_up, over, clock=clock)
        halt.check()
        price = price_of(spec)
        settle = self._reserve(upper_bound(role, request, price, scope)) if self._reserve is not None else None
        entry: LedgerEntry | None = None
        try:
            timing = Timing(time.perf_counter(), clock)
            raw = self._answer(role, spec, line, request, halt, Halt(cancel), timing)
            reply = _reply(raw, spec.name, price, timing)
            entry = _entry(reply, role, scope)
            self._ledger.append(entry)
            return reply
        finally:
            if settle is not None:
                settle(entry)

    def bound(self, role: Role, messages: Sequence[Message], options: CallOptions, scope: Scope) -> ReserveRequest:
        """Return the upper bounds of a call that is not made yet."""
        spec = self._spec(role)
        return upper_bound(role, build_request(spec, messages, options, self._timeout), price_of(spec), scope)

    def close(self) -> None:
        """End all waits with Cancelled, refuse further calls, and free connections and backends."""
        self._closed.set()
        with self._lock:
            lines = list(self._lines.values())
        for line in lines:
            line.backend.close()
        self._client.close()

    def _spec(self, role: Role) -> ModelSpec:
        spec = self._specs[role]
        if spec is None:
            also = " (or reflection, which stands in for it)" if role == "metric" else ""
            raise SkynetError(f"No model is set for the role {role!r}: name one under [models] as {role}{also}.")
        return spec

    def _line(self, spec: ModelSpec) -> Line:
        with self._lock:
            place = (spec.name, spec.base_url, spec.api_key_env)
            if place not in self._lines:
                at_a_time = 1 if spec.name.startswith(LOCAL_PREFIX) else self._concurrency
                self._lines[place] = Line(self._backend(spec), threading.BoundedSemaphore(at_a_time))
            return self._lines[place]

    def _backend(self, spec: ModelSpec) -> Backend:
        if spec.name.startswith(LOCAL_PREFIX):
            from skynet.models.local import LocalBackend

            return LocalBackend(self._root, environ=self._environ)
        key = self._key(spec)
        if spec.base_url is not None:
            return HttpBackend(spec.base_url, key, self._client)
        return RemoteBackend(spec.name, key, self._keys)

    def _key(self, spec: ModelSpec) -> str | None:
        return None if spec.api_key_env is None else self._keys.require(spec.api_key_env, spec.name)

    def _answer(
        self,
        role: Role,
        spec: ModelSpec,
        line: Line,
        request: ModelRequest,
        halt: Halt,
        cancel: Halt,  # a closing gateway lets a request that is under way end, its caller's wish does not
        timing: Timing,
    ) -> RawReply:
        def attempt() -> RawReply:
            timing.attempts += 1
            began = time.perf_counter()
            try:
                raw = cancel.during(lambda: line.backend.complete(request))
            except ProviderFault:
                timing.failed(began)
                raise
            measured = (time.perf_counter() - began) * 1000
            timing.latency_ms = raw.latency_ms if raw.latency_ms is not None else measured
            return raw

        # The slot is kept while waiting to try again: sending others to a limited provider meanwhile helps nobody.
        with halt.holding(line.slots):
            try:
                return with_retries(attempt, self._retry, halt)
            except ProviderFault as raised:
                fault = raised
        raise self._error(role, spec, fault, timing.attempts)

    def _error(self, role: Role, spec: ModelSpec, fault: ProviderFault, attempts: int) -> ProviderError:
        fault.words = shown_words(self._keys.redact(fault.words))
        advice = _advice(spec, fault)
        return provider_error(fault, role=role, model=spec.name, attempts=attempts, advice=advice)


def _advice(spec: ModelSpec, fault: ProviderFault) -> str:
    """Return what to look at after a refusal; empty where the words say it."""
    if fault.reach != "model" or fault.status is None:
        return ""
    if fault.status in (401, 403) and spec.base_url is not None and spec.api_key_env is None:
        return NO_KEY
    return ADVICE.get(fault.status, "").format(key=spec.api_key_env or "the provider's environment variable")


def _is_remote(spec: ModelSpec) -> bool:
    return spec.base_url is None and not spec.name.startswith(LOCAL_PREFIX)


def _reply(raw: RawReply, model: str, price: Price | None, timing: Timing) -> Reply:
    return Reply(
        text=raw.text,
        prompt_tokens=raw.prompt_tokens,
        completion_tokens=raw.completion_tokens,
        cost_usd=None if price is None else price.cost(raw.prompt_tokens, raw.completion_tokens),
        latency_ms=timing.latency_ms,
        waited_ms=timing.waited_ms(),
        model=model,
        tool_calls=raw.tool_calls,
        finish_reason=raw.finish_reason,
    )


def _entry(reply: Reply, role: Role, scope: Scope) -> LedgerEntry:
    return LedgerEntry(
        role=role,
        model=reply.model,
        prompt_tokens=reply.prompt_tokens,
        completion_tokens=reply.completion_tokens,
        cost_usd=reply.cost_usd,
        latency_ms=reply.latency_ms,
        case=scope.case,
        version=scope.version,
        at=time.time(),
    )
