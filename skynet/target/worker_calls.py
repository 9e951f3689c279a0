"""Calls of user code in a pool's workers: their model requests are answered and priced, their outcome is told."""

from __future__ import annotations

import contextvars
import re
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from skynet.models.calls import Reply, Scope
from skynet.models.door import ModelDoor
from skynet.models.endpoint_wire import EndpointRequest
from skynet.target.base import TargetResult, Ticket
from skynet.target.model_calls import ModelCalls
from skynet.workers.clock import CallClock
from skynet.workers.pool import Load, WorkerPool

if TYPE_CHECKING:
    from skynet.models.endpoint import Endpoint

_KEY_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)


def holds_keys(names: Sequence[str]) -> bool:
    """Whether one of the environment variables is named like a key."""
    return any(_KEY_NAME.search(name) for name in names)


class WorkerCalls:
    """Makes one call a run. `passed` are the environment variables that the workers are given."""

    def __init__(
        self,
        pool: WorkerPool,
        gateway: ModelDoor,
        timeout: float,
        passed: Sequence[str] = (),
        endpoint: Endpoint | None = None,
    ) -> None:
        self.pool = pool
        self._endpoint = endpoint
        self._gateway = gateway
        self._timeout = timeout
        self._unmetered = holds_keys(passed)

    def load(self) -> TargetResult | None:
        """Load the user's code; return the failure, or None."""
        outcome = self.pool.load()
        if outcome.kind == "ok":
            return None
        return TargetResult(fault=outcome.fault, stdout=outcome.stdout, stderr=outcome.stderr)

    def run(self, payload: dict[str, Any], ticket: Ticket, load: Load | None = None) -> TargetResult:
        """Make one call; `elapsed_ms` is None where the worker's code did not even load. Lets a stop of the run pass.

        Model calls through `llm` go to the task model and are priced to the case.
        """
        scope = Scope(case=ticket.case.id, version=ticket.version)
        calls = ModelCalls(self._gateway, "task", scope, self._timeout, ticket.cancel)
        outcome = self.pool.call(
            payload,
            timeout=self._timeout,
            ask=calls.answer,
            seed=ticket.seed,
            cancel=ticket.cancel,
            load=load or Load(),
            around=lambda token, clock: self._open(calls, token, clock),
        )
        calls.end()
        if calls.stop is not None:
            raise calls.stop
        totals = calls.totals()
        if self._unmetered:  # it holds keys of its own, whose bills nobody shows us
            totals["cost_usd"] = None
        fault = calls.provider_fault or outcome.fault
        return TargetResult(
            output=outcome.value if fault is None else None,
            fault=fault,
            elapsed_ms=None if outcome.loading else outcome.elapsed_ms,
            stdout=outcome.stdout,
            stderr=outcome.stderr,
            **totals,
        )

    def _open(self, calls: ModelCalls, token: str, clock: CallClock) -> AbstractContextManager[object]:
        """Let requests at the endpoint that bear this worker's token count for this call."""
        if self._endpoint is None:
            return nullcontext()
        context = contextvars.copy_context()  # whose call it is, for the journal and the budget

        def ask(request: EndpointRequest) -> Reply:
            return context.copy().run(calls.answer_sdk, request, clock)

        return self._endpoint.grant(ask, token)
