"""The gateway as an OpenAI-compatible server on loopback, so that any SDK in a user's program works without a key."""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from skynet.errors import SkynetError
from skynet.models.calls import Reply
from skynet.models.endpoint_wire import (
    BadRequest,
    EndpointRequest,
    chunks,
    completion,
    error_body,
    model_list,
    parse_request,
)
from skynet.models.faults import ProviderError

Ask = Callable[[EndpointRequest], Reply]
CHAT, MODELS = "/v1/chat/completions", "/v1/models"
LONGEST_BODY = 64 * 2**20  # bytes
NO_REPLY = 502  # the status for a provider that gave none, or sent a broken reply with 200


class Grant:
    """One token's right to call `ask` while `in_force`, and the stop (a BaseException such as a budget's) that a call
    met."""

    def __init__(self, ask: Ask) -> None:
        self.ask = ask
        self.in_force = True
        self.stop: BaseException | None = None


def new_token() -> str:
    """Return a token that nobody can guess."""
    return f"skynet-{secrets.token_urlsafe(24)}"


class Endpoint:
    """Serves chat completions, streamed or not, on 127.0.0.1 from construction until close()."""

    def __init__(self, models: Sequence[str]) -> None:
        self._models = tuple(models)
        self._grants: dict[str, Grant] = {}
        self._lock = threading.Lock()
        self._server = _Server(self)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), name="skynet-endpoint", daemon=True
        )
        self._thread.start()

    @property
    def base_url(self) -> str:
        """The address for OPENAI_BASE_URL."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    @property
    def models(self) -> tuple[str, ...]:
        """The names that `/v1/models` lists."""
        return self._models

    @contextmanager
    def grant(self, ask: Ask, token: str | None = None) -> Iterator[str]:
        """Yield the token given, or a new one; until the exit `ask` answers the requests that bear it, of any thread.

        A request for n replies calls `ask` n times, but not after the exit. An Exception of `ask` becomes the answer's
        error. Any other BaseException does so too and is raised again at the exit: the program that made the call
        cannot swallow it.
        """
        token, grant = token or new_token(), Grant(ask)
        with self._lock:
            self._grants[token] = grant
        try:
            yield token
        finally:
            grant.in_force = False
            with self._lock:
                del self._grants[token]
        if grant.stop is not None:
            raise grant.stop

    def granted(self, token: str) -> Grant | None:
        """Return the grant of a token that is in force."""
        with self._lock:
            return self._grants.get(token)

    def close(self) -> None:
        """Stop serving; requests in flight are left to their threads."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256  # the default of 5 makes a burst of connections wait for a second

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.endpoint = endpoint

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that went away (it is killed at a timeout); report the rest as usual."""
        import sys

        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else head and body, written apart, wait 40 ms for each other
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        """Keep the host's stderr for the user."""

    def do_GET(self) -> None:
        grant = self._grant()
        if grant is not None and self._at(MODELS):
            self._send(200, model_list(self.server.endpoint.models))

    def do_POST(self) -> None:
        content = self._body()
        if content is None:
            return
        grant = self._grant()
        if grant is None or not self._at(CHAT):
            return
        try:
            request = parse_request(content)
        except BadRequest as error:
            self._send(400, error_body(str(error), "invalid_request_error", param=error.param))
            return
        replies = self._ask(grant, request)
        if replies and request.stream:
            self._stream(chunks(replies, request.stream_usage))
        elif replies:
            self._send(200, completion(replies))

    def _body(self) -> bytes | None:
        length = self.headers.get("Content-Length", "")
        if length.isdecimal() and int(length) <= LONGEST_BODY:
            return self.rfile.read(int(length))
        self.close_connection = True  # where the body ends is unknown
        words = f"The request needs a Content-Length of at most {LONGEST_BODY} bytes, not {length!r}."
        self._send(400, error_body(words, "invalid_request_error"))
        return None

    def _grant(self) -> Grant | None:
        kind, _, token = self.headers.get("Authorization", "").partition(" ")
        grant = self.server.endpoint.granted(token.strip()) if kind.lower() == "bearer" else None
        if grant is None:
            self._refuse_key()
        return grant

    def _refuse_key(self) -> None:
        words = "The key is not one of a case that is running. Send OPENAI_API_KEY as the worker finds it, now."
        self._send(401, error_body(words, "invalid_request_error", "invalid_api_key"))

    def _at(self, path: str) -> bool:
        asked = self.path.partition("?")[0]
        if asked == path:
            return True
        words = f"There is no {self.command} {asked} here; there is POST {CHAT} and GET {MODELS}."
        self._send(404, error_body(words, "invalid_request_error", "not_found"))
        return False

    def _ask(self, grant: Grant, request: EndpointRequest) -> list[Reply]:
        """Return the replies; an empty list when an error was sent instead."""
        replies: list[Reply] = []
        try:
            while len(replies) < request.n:
                if not grant.in_force:  # the case ended: nobody reads the rest, and all of it would be paid
                    self._refuse_key()
                    return []
                replies.append(grant.ask(request))
            return replies
        except ProviderError as error:
            status = error.status if error.status is not None and error.status >= 400 else NO_REPLY
            self._send(status, error_body(str(error), "provider_error", "provider_error"))
        except SkynetError as error:
            self._send(400, error_body(str(error), "invalid_request_error"))
        except Exception as error:  # noqa: BLE001 - the client must get an answer, whatever the host's code raised
            self._send(500, error_body(f"{type(error).__name__}: {error}", "server_error"))
        except BaseException as stop:  # noqa: BLE001 - raised again by Endpoint.grant, in the host's own thread
            grant.stop = stop
            self._send(403, error_body(f"The run has stopped: {stop}", "stopped", "stopped"))
        return []

    def _send(self, status: int, body: Mapping[str, Any]) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("x-should-retry", "false")  # the gateway has tried already; OpenAI's clients heed this
        self.end_headers()
        self.wfile.write(content)

    def _stream(self, events: Iterator[str]) -> None:
        self.close_connection = True  # the end of the connection is the end of the stream
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Connection", "close")
        self.end_headers()
        for event in events:
            self.wfile.write(event.encode())
