"""An OpenAI-compatible model server on loopback, for tests: scripted replies, and faults on demand."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

import pytest

Body = dict[str, Any]
Reply = str | Mapping[str, Any]  # a text, or a whole message (for tool_calls)
Script = Reply | Sequence[Reply] | Callable[[Body], Reply]
FaultKind = Literal["status", "cut_body", "malformed", "wrong_type", "empty_choice", "slow_drip", "closed_socket"]


@dataclass(frozen=True)
class Fault:
    """What goes wrong with one request. `body` replaces the error's own; `seconds` is the drip's wait per byte."""

    kind: FaultKind
    code: int = 500
    words: str = "the server is on fire"
    error_code: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None
    seconds: float = 0.05


def status(
    code: int,
    words: str = "the server is on fire",
    *,
    error_code: str | None = None,
    retry_after: str | None = None,
    body: str | None = None,
) -> Fault:
    """An HTTP status with an error in OpenAI's shape (or the `body` given)."""
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    return Fault("status", code=code, words=words, error_code=error_code, headers=headers, body=body)


CUT_BODY = Fault("cut_body")
MALFORMED = Fault("malformed")
WRONG_TYPE = Fault("wrong_type")
EMPTY_CHOICE = Fault("empty_choice")
SLOW_DRIP = Fault("slow_drip")
CLOSED_SOCKET = Fault("closed_socket")


@dataclass(frozen=True)
class Recorded:
    """A request as it arrived; `at` is the monotonic clock in seconds."""

    path: str
    headers: Mapping[str, str]
    body: Body
    at: float


class ModelServer:
    """The server. `reply` is a text, a list of them (the last one is repeated) or a function of the request's JSON.

    A reply that stands in the enum of a requested `{"choice": ...}` format is wrapped in it, as constrained servers do.
    """

    def __init__(self, reply: Script = "ok") -> None:
        self.reply: Script = reply
        self.latency = 0.0
        self.usage: Mapping[str, int] | Literal["words"] | None = "words"
        self.requests: list[Recorded] = []
        self.busy = 0
        self.most_busy = 0
        self.trouble: Callable[[Body], Fault | None] = lambda body: None  # asked for each request, one at a time
        self._faults: list[Fault] = []
        self._always: Fault | None = None
        self._answered = 0
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.model = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The base_url to write into a spec."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def fail(self, *faults: Fault) -> None:
        """Fail the next requests, one fault each."""
        with self._lock:
            self._faults.extend(faults)

    def fail_always(self, fault: Fault | None) -> None:
        """Fail every request from now on, or none any more."""
        with self._lock:
            self._always = fault

    def close(self) -> None:
        """Stop serving; connections that wait for a reply are left to their threads."""
        self._server.shutdown()
        self._server.server_close()

    @contextmanager
    def serving(self, recorded: Recorded) -> Iterator[Fault | None]:
        """Record a request and count it as busy; yields the fault that it meets."""
        with self._lock:
            self.requests.append(recorded)
            self.busy += 1
            self.most_busy = max(self.most_busy, self.busy)
            fault = self._faults.pop(0) if self._faults else self._always or self.trouble(recorded.body)
        try:
            yield fault
        finally:
            with self._lock:
                self.busy -= 1

    def completion(self, body: Body) -> Body:
        """The chat completion that answers `body`."""
        message = _message(self._next(body), body)
        completion: Body = {
            "id": "chatcmpl-loopback",
            "object": "chat.completion",
            "created": 0,
            "model": body.get("model", ""),
            "choices": [{"index": 0, "message": message, "finish_reason": _finish(message)}],
        }
        usage = _words(body, message) if self.usage == "words" else self.usage
        return completion if usage is None else completion | {"usage": dict(usage)}

    def _next(self, body: Body) -> Reply:
        if callable(self.reply):
            return self.reply(body)
        if isinstance(self.reply, str | Mapping):
            return self.reply
        with self._lock:
            index = min(self._answered, len(self.reply) - 1)
            self._answered += 1
        return self.reply[index]


def _message(reply: Reply, body: Body) -> Body:
    if not isinstance(reply, str):
        return {"role": "assistant", "content": None, **reply}
    schema = ((body.get("response_format") or {}).get("json_schema") or {}).get("schema") or {}
    choices = schema.get("properties", {}).get("choice", {}).get("enum", ())
    return {"role": "assistant", "content": json.dumps({"choice": reply}) if reply in choices else reply}


def _finish(message: Body) -> str:
    return "tool_calls" if message.get("tool_calls") else "stop"


def _words(body: Body, message: Body) -> Body:
    prompt = sum(len(str(turn.get("content") or "").split()) for turn in body.get("messages", ()))
    completion = len(str(message.get("content") or "").split())
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256
    model: ModelServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a client that went away is part of many tests."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        """Keep the tests' output clean."""

    def do_GET(self) -> None:
        self._send(200, json.dumps({"object": "list", "data": [{"id": "loopback", "object": "model"}]}))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        model = self.server.model
        with model.serving(Recorded(self.path, dict(self.headers), body, time.monotonic())) as fault:
            if model.latency:
                time.sleep(model.latency)
            if fault is None:
                self._send(200, json.dumps(model.completion(body)))
            elif fault.kind == "closed_socket":
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
            elif fault.kind == "slow_drip":
                self._drip(json.dumps(model.completion(body)).encode(), fault.seconds)
            else:
                self._misbehave(fault, model, body)

    def _misbehave(self, fault: Fault, model: ModelServer, body: Body) -> None:
        if fault.kind == "status":
            error = {"message": fault.words, "type": "server_error", "code": fault.error_code}
            self._send(fault.code, fault.body or json.dumps({"error": error}), headers=fault.headers)
        elif fault.kind == "wrong_type":
            self._send(200, fault.body or "<html>Please log in</html>", kind="text/html")
        elif fault.kind == "malformed":
            self._send(200, fault.body or '{"choices": [')
        elif fault.kind == "empty_choice":
            self._send(200, json.dumps(model.completion(body) | {"choices": []}))
        elif fault.kind == "cut_body":
            text = json.dumps(model.completion(body))
            self._send(200, text[: len(text) // 2], length=len(text))
            self.close_connection = True

    def _send(
        self,
        code: int,
        text: str,
        *,
        kind: str = "application/json",
        headers: Mapping[str, str] | None = None,
        length: int | None = None,
    ) -> None:
        content = text.encode()
        self._head(code, kind, len(content) if length is None else length, headers or {})
        self.wfile.write(content)

    def _drip(self, content: bytes, seconds: float) -> None:
        self._head(200, "application/json", len(content), {})
        for byte in content:
            self.wfile.write(bytes([byte]))
            time.sleep(seconds)

    def _head(self, code: int, kind: str, length: int, headers: Mapping[str, str]) -> None:
        self.send_response(code)
        for name, value in {"Content-Type": kind, "Content-Length": str(length), **headers}.items():
            self.send_header(name, value)
        self.end_headers()


@pytest.fixture
def model_server() -> Iterator[ModelServer]:
    """A model server that says "ok" until told otherwise."""
    server = ModelServer()
    yield server
    server.close()
