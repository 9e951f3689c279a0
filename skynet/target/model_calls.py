"""The model calls that user code makes inside one run or one score: answered by the gateway, counted for the case."""

from __future__ import annotations

import threading
from typing import Any

from skynet.errors import SkynetError, nearest
from skynet.models.calls import Reply, Scope
from skynet.models.door import ModelDoor
from skynet.models.endpoint_wire import PASSED_ON, EndpointRequest
from skynet.models.faults import ProviderError
from skynet.models.ledger import Role
from skynet.models.open_calls import OpenCalls
from skynet.models.retry import Cancelled
from skynet.workers.clock import CallClock
from skynet.workers.fault import Fault

_KINDS = {
    "schema": dict, "temperature": int | float, "max_tokens": int, "tools": list, "tool_choice": str | dict,
    "extra": dict,
}  # fmt: skip


class ModelCalls:
    """Answers the model requests of one call, until end(). After a failed or stopped one, what the call returned must
    be dropped."""

    def __init__(
        self, gateway: ModelDoor, role: Role, scope: Scope, timeout: float, cancel: threading.Event | None
    ) -> None:
        self._gateway = gateway
        self._role = role
        self._scope = scope
        self._timeout = timeout
        self._cancel = cancel
        self._lock = threading.Lock()
        self._replies: list[Reply] = []
        self._open: OpenCalls | None = None  # made with the first request: most calls make none
        self._ended = False
        self._unknown = False  # whether a request was sent whose reply, and so whose price, nobody knows
        self.stop: BaseException | None = None
        self.provider_fault: Fault | None = None

    def answer(self, request: dict[str, Any], clock: CallClock) -> dict[str, Any]:
        """Answer one request of a worker: `{"text", ...}` with what else the model replied, `{"error"}`, `{"stop"}`."""
        if not self._gateway.has(self._role):
            return self._failed(
                f"no {self._role} model is set; name one under [models] in skynet.toml",
                {"permanent": True, "no_model": self._role},
            )
        if not _is_request(request):  # user code reached past llm(), which sends nothing else
            return {"error": "this is no request of llm(): ask with llm(prompt, input) or llm(messages=...)"}
        if unknown := sorted((request.get("extra") or {}).keys() - PASSED_ON):  # such as `n`, which multiplies
            return {"error": f"the parameter {unknown[0]!r} is not supported here.{nearest(unknown[0], PASSED_ON)}"}
        try:
            reply = self._complete(request, clock)
        except Cancelled as error:
            self._cancelled(error)
            return {"error": str(error)}
        except SkynetError as error:
            return self._failed(str(error), {"permanent": not isinstance(error, ProviderError) or error.hopeless})
        except BaseException as stop:  # noqa: BLE001 - the budget's stop; raised again in the host when the call ends
            self.stop = stop
            return {"stop": str(stop) or type(stop).__name__}
        return answer_of(reply)

    def answer_sdk(self, request: EndpointRequest, clock: CallClock) -> Reply:
        """Answer one request that came to the endpoint. Raises what the endpoint tells the program: the failure."""
        try:
            with clock.request():
                return self._complete({"messages": request.messages, **request.options()}, clock)
        except Cancelled as error:
            self._cancelled(error)
            raise
        except SkynetError as error:
            self._failed(str(error), {"permanent": not isinstance(error, ProviderError) or error.hopeless})
            raise
        except BaseException as stop:
            self.stop = stop
            raise

    def end(self) -> None:
        """Send nothing more, and wait for what was sent, since it is paid: up to the call's own timeout in seconds.

        What fails from now on is no failure of the call, which has ended without it.
        """
        with self._lock:
            self._ended, under_way = True, self._open
        if under_way is not None and not under_way.end(self._timeout):
            self._unknown = True

    def _cancelled(self, error: Cancelled) -> None:
        self._unknown = self._unknown or error.sent
        self._set_fault(Fault("cancelled", str(error)))

    def _failed(self, message: str, data: dict[str, Any]) -> dict[str, Any]:
        self._set_fault(Fault("provider", message, type="ModelError", data=data))
        return {"error": message}

    def _set_fault(self, fault: Fault) -> None:
        if not self._ended:
            self.provider_fault = fault

    def _complete(self, request: dict[str, Any], clock: CallClock) -> Reply:
        under_way = self._calls_under_way()
        with under_way.call():
            reply = self._gateway.complete(
                self._role,
                request["messages"],
                schema=request.get("schema"),
                temperature=request.get("temperature"),
                max_tokens=request.get("max_tokens"),
                tools=request.get("tools"),
                tool_choice=request.get("tool_choice"),
                extra=request.get("extra"),
                scope=self._scope,
                cancel=self._cancel,
                timeout=self._timeout,
                clock=clock,
                given_up=under_way.over,
            )
            with self._lock:
                self._replies.append(reply)
        return reply

    def _calls_under_way(self) -> OpenCalls:
        with self._lock:
            if self._ended:
                raise Cancelled("The model call came after the end of the case that it was made for.")
            if self._open is None:
                self._open = OpenCalls()
            return self._open

    def totals(self) -> dict[str, Any]:
        """Return cost_usd (None when a call's is unknown), model_calls, prompt_tokens and completion_tokens."""
        with self._lock:
            replies = list(self._replies)
        costs = [reply.cost_usd for reply in replies]
        unknown = self._unknown or None in costs
        return {
            "cost_usd": None if unknown else float(sum(cost for cost in costs if cost is not None)),
            "model_calls": len(replies),
            "prompt_tokens": sum(reply.prompt_tokens or 0 for reply in replies),
            "completion_tokens": sum(reply.completion_tokens or 0 for reply in replies),
        }


def answer_of(reply: Reply) -> dict[str, Any]:
    """Return a reply as a worker is told it."""
    return {
        "text": reply.text,
        "tool_calls": [dict(call) for call in reply.tool_calls],
        "finish_reason": reply.finish_reason,
        "prompt_tokens": reply.prompt_tokens,
        "completion_tokens": reply.completion_tokens,
    }


def _is_request(request: dict[str, Any]) -> bool:
    messages = request.get("messages")
    if not isinstance(messages, list) or not all(isinstance(turn, dict) for turn in messages):
        return False
    if not all(isinstance(turn.get("role"), str) and _has_content(turn) for turn in messages):
        return False
    if not all(isinstance(request.get(name), kind | None) for name, kind in _KINDS.items()):
        return False
    return all(isinstance(tool, dict) for tool in request.get("tools") or ())


def _has_content(turn: dict[str, Any]) -> bool:
    """Whether a turn says something; a program's own may hold blocks (images), or tool calls and no text."""
    return isinstance(turn.get("content"), str | list) or isinstance(turn.get("tool_calls"), list)
