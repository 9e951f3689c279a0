"""The http target: a deployed agent, asked by the host over HTTP with the version and the input in the request."""

from __future__ import annotations

import json
import math
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from skynet.artifact import Artifact
from skynet.errors import SkynetError
from skynet.models.retry import Cancelled, Halt
from skynet.target.base import TargetResult, Ticket
from skynet.target.reply_path import PathMissing, at_path
from skynet.target.request_template import HttpRequest, RequestTemplate
from skynet.workers.fault import Fault, FaultKind, cut

if TYPE_CHECKING:
    import httpx

CONNECT_SECONDS = 10.0
_SHOWN_BODY = 1_000
_OWN_HOSTS = ("localhost", "127.0.0.1", "[::1]")  # never reached through a proxy


class _Failed(Exception):
    """The request brought no answer; `kind` and the text become the case's fault. `cost` is 0 where it was not sent."""

    def __init__(
        self, message: str, kind: FaultKind = "raised", type: str = "HttpError", cost: float | None = None
    ) -> None:
        super().__init__(message)
        self.fault = Fault(kind, message, type)
        self.cost = cost


class _TimeUp(threading.Event):
    """A flag that is set once `seconds` are over, whatever the agent sends meanwhile."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._end = time.monotonic() + seconds

    def is_set(self) -> bool:
        return time.monotonic() > self._end


@dataclass(frozen=True, slots=True)
class ReplyPaths:
    """Where in the reply's JSON the answer, the trajectory and the dollars stand; None: the whole reply, or nothing."""

    answer: str | None = None
    trajectory: str | None = None
    cost: str | None = None


class HttpTarget:
    """One request a case. The cost is None unless the reply reports it. Redirects are refused."""

    def __init__(self, template: RequestTemplate, paths: ReplyPaths, timeout: float, most_bytes: int) -> None:
        self._template = template
        self._paths = paths
        self._timeout = timeout
        self._most = most_bytes
        self._lock = threading.Lock()
        self._client: httpx.Client | None = None

    def load(self) -> TargetResult | None:
        """Say which environment variable of a header is not set."""
        missing = self._template.missing_variables()
        if not missing:
            return None
        message = f"[target] headers need the environment variable {missing[0]}, which is not set"
        return TargetResult(fault=Fault("raised", message))

    def run(self, artifact: Artifact, ticket: Ticket) -> TargetResult:
        """Send the request once. Every failure to answer is the version's.

        A cancelled run is not waited for; its cost is 0 where the request was not sent, and None where it was.
        """
        try:
            request = self._template.fill(artifact.content, ticket.case.input)
        except SkynetError as error:
            return TargetResult(fault=Fault("raised", str(error)))
        client = self._connected()
        if ticket.cancel is not None and ticket.cancel.is_set():
            return TargetResult(fault=Fault("cancelled", "the run was stopped before the request was sent"), cost_usd=0)
        began = time.perf_counter()  # making the client, the first time, is no time of the agent's
        try:
            content = self._waited_for(client, request, ticket.cancel)
            elapsed_ms = (time.perf_counter() - began) * 1000
            return self._answered(content, elapsed_ms)
        except _Failed as failed:
            elapsed_ms = (time.perf_counter() - began) * 1000
            return TargetResult(fault=self._redacted(failed.fault), elapsed_ms=elapsed_ms, cost_usd=failed.cost)

    def _connected(self) -> httpx.Client:
        import httpx

        with self._lock:
            if self._client is None:
                self._client = httpx.Client(
                    follow_redirects=False,
                    limits=httpx.Limits(max_connections=None),
                    mounts={f"all://{host}": None for host in _OWN_HOSTS},
                )
            return self._client

    def _waited_for(self, client: httpx.Client, request: HttpRequest, cancel: threading.Event | None) -> bytes:
        """Send it on a thread of its own, which is left behind at a stop, and when the time for the whole is over."""
        halt = Halt(cancel, _TimeUp(self._timeout))
        try:
            return halt.during(lambda: self._sent(client, request, halt))
        except Cancelled:
            if cancel is not None and cancel.is_set():
                raise _Failed("the run was stopped while the request was under way", "cancelled", "") from None
            raise _Failed(f"{request.url} gave no whole reply within {self._timeout:g} s", "timeout", "") from None

    def _sent(self, client: httpx.Client, request: HttpRequest, halt: Halt) -> bytes:
        import httpx

        limits = httpx.Timeout(self._timeout, connect=min(self._timeout, CONNECT_SECONDS))
        try:
            with client.stream(
                request.method, request.url, content=request.body, headers=dict(request.headers), timeout=limits
            ) as response:
                content = self._whole(response, halt)
        except httpx.TimeoutException as error:
            words = f"{request.url} gave no whole reply within {self._timeout:g} s ({type(error).__name__})"
            raise _Failed(words, "timeout", "", _unsent(error)) from None
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeEncodeError) as error:
            raise _Failed(f"{request.url}: {type(error).__name__}: {error}", cost=_unsent(error)) from None
        if not 200 <= response.status_code < 300:
            raise _Failed(_refused(response, content))
        return content

    def _whole(self, response: httpx.Response, halt: Halt) -> bytes:
        """Read the body, bounded in size, while somebody waits for it. Raises Cancelled."""
        content = bytearray()
        for chunk in response.iter_bytes():
            content += chunk
            halt.check()
            if len(content) > self._most:
                words = f"the reply is longer than {self._most:,} bytes, the limit that [limits] output sets"
                raise _Failed(words, "bad_output")
        return bytes(content)

    def _answered(self, content: bytes, elapsed_ms: float) -> TargetResult:
        text = content.decode("utf-8", "replace")
        try:
            reply = json.loads(text)
        except ValueError:
            reply = text
        paths = self._paths
        output, cost = _found(reply, "answer", paths.answer), None
        if paths.cost is not None:
            cost = _dollars(_found(reply, "cost", paths.cost))
        trace = None if paths.trajectory is None else _found(reply, "trajectory", paths.trajectory)
        return TargetResult(output=output, elapsed_ms=elapsed_ms, cost_usd=cost, trace=trace)

    def _redacted(self, fault: Fault) -> Fault:
        return Fault(fault.kind, self._template.redact(fault.message), fault.type)

    def clock_floor_ms(self) -> float | None:
        """None: the time is the agent's and the network's."""
        return None

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            if self._client is not None:
                self._client.close()


def _unsent(error: Exception) -> float | None:
    """Return what a request cost that did not even come to be sent, 0; None where it may have been."""
    import httpx

    return 0.0 if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout) else None


def _refused(response: httpx.Response, content: bytes) -> str:
    status = f"HTTP {response.status_code} {response.reason_phrase}".strip()
    if 300 <= response.status_code < 400:
        place = response.headers.get("location", "nowhere")
        return f"{status}: it redirects to {place}; redirects are refused, name that address as [target] url"
    body = cut(content.decode("utf-8", "replace").strip(), _SHOWN_BODY)
    return f"{status}: {body}" if body else status


def _found(reply: Any, key: str, path: str | None) -> Any:
    if path is None:
        return reply
    if isinstance(reply, str):
        raise _Failed(f"the reply is no JSON, so [target] {key} = {path!r} cannot be read: {cut(reply, _SHOWN_BODY)}")
    try:
        return at_path(reply, path)
    except PathMissing as missing:
        raise _Failed(f"[target] {key} = {path!r}: {missing}") from None


def _dollars(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise _Failed(f"[target] cost: the reply reports {value!r}, which is no number of dollars")
    return float(value)
