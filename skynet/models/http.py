"""A backend for servers that speak OpenAI's chat completions: one httpx client, shared by all threads."""

from __future__ import annotations

import dataclasses
import json
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from skynet.models.backend import ModelRequest, ProviderFault, RawReply
from skynet.models.faults import refusal
from skynet.models.wire import chat_body, error_words, read_reply

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterator, Mapping

    import httpx

CONNECT_SECONDS = 10.0
OWN_HOSTS = ("localhost", "127.0.0.1", "[::1]")  # never sent through a proxy
NOT_SENT = "openai/"  # LiteLLM's prefix for a compatible server, no part of the model's name


class HttpClient:
    """The httpx clients of a gateway, made when first needed, since importing httpx takes a while.

    Each serves one request at a time and so keeps one connection a server: a client that is shared looks at all of
    its idle connections, one system call each, at every request.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[httpx.Client] = []
        self._trust: ssl.SSLContext | None = None  # shared, since reading the certificates takes longest
        self._closing = False

    @contextmanager
    def using(self) -> Iterator[httpx.Client]:
        """Lend a client; after close() there is none to lend, which is a ProviderFault of the attempt."""
        client = self._lent()
        try:
            yield client
        finally:
            with self._lock:
                closing = self._closing
                if not closing:
                    self._idle.append(client)
            if closing:
                client.close()

    def _lent(self) -> httpx.Client:
        import httpx

        with self._lock:
            if self._closing:
                raise ProviderFault("the gateway is closed", "attempt")
            if self._idle:
                return self._idle.pop()
            self._trust = self._trust or httpx.create_ssl_context()
        return httpx.Client(verify=self._trust, mounts={f"all://{host}": None for host in OWN_HOSTS})

    def close(self) -> None:
        """Close the connections; those of requests in flight when these end: closing one under a reader is unsafe."""
        with self._lock:
            self._closing = True
            idle, self._idle = self._idle, []
        for client in idle:
            client.close()


class HttpBackend:
    """One server. Without a key no Authorization header is sent."""

    def __init__(self, base_url: str, key: str | None, client: HttpClient) -> None:
        self._base_url = base_url.rstrip("/")
        self._key = key
        self._client = client

    def complete(self, request: ModelRequest) -> RawReply:
        """Make one attempt; `request.timeout` bounds the whole of it, a slowly dripping body included."""
        body = chat_body(request) | {"model": request.model.removeprefix(NOT_SENT)}
        body |= request.extra.get("extra_body") or {}
        with self._client.using() as client:
            began = time.perf_counter()  # making the client, the first time, is no latency of the model's
            status, headers, content = self._post(client, json.dumps(body).encode(), request.timeout)
            latency_ms = (time.perf_counter() - began) * 1000
        if status != 200:
            raise _refused(status, headers, content.decode("utf-8", "replace"))
        kind = headers.get("content-type", "")
        if "json" not in kind:
            words = f"the reply's type is {kind!r}, not application/json: {error_words(_text(content))[0]}"
            raise ProviderFault(words, "attempt", status=status)
        return dataclasses.replace(read_reply(_parse(content), request), latency_ms=latency_ms)

    def close(self) -> None:
        """Do nothing: the client is the gateway's."""

    def _post(self, client: httpx.Client, body: bytes, timeout: float) -> tuple[int, Mapping[str, str], bytes]:
        import httpx

        headers = {"content-type": "application/json"} | ({"authorization": f"Bearer {self._key}"} if self._key else {})
        limits = httpx.Timeout(timeout, connect=min(timeout, CONNECT_SECONDS))
        deadline = time.monotonic() + timeout
        url = f"{self._base_url}/chat/completions"
        try:
            with client.stream("POST", url, content=body, headers=headers, timeout=limits) as response:
                chunks = []
                for chunk in response.iter_bytes():
                    chunks.append(chunk)
                    if time.monotonic() > deadline:
                        raise httpx.ReadTimeout("the body did not end in time")
                return response.status_code, response.headers, b"".join(chunks)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            fault = self._unreachable(error, timeout)
        raise fault  # outside the handler, so that no exception that may quote a key hangs on it

    def _unreachable(self, error: Exception, timeout: float) -> ProviderFault:
        import httpx

        if isinstance(error, httpx.UnsupportedProtocol | httpx.InvalidURL):
            words = f"base_url {self._base_url!r} is no usable address ({error}); it must begin with http:// or https://"
            return ProviderFault(words, "model")
        if isinstance(error, httpx.TimeoutException):
            words = f"no complete reply from {self._base_url} within {timeout:g} s ({type(error).__name__})"
            return ProviderFault(words, "attempt")
        return ProviderFault(f"{self._base_url}: {type(error).__name__}: {error}", "attempt")


def _refused(status: int, headers: Mapping[str, str], body: str) -> ProviderFault:
    words, code = error_words(body)
    if 300 <= status < 400:
        words = f"the server redirects to {headers.get('location', 'nowhere')}; name that address as base_url"
    return refusal(status, words, code, headers)


def _parse(content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError as error:
        shown = error_words(_text(content))[0]
        words = f"the reply is not valid JSON ({type(error).__name__}: {error}): {shown}"
    raise ProviderFault(words, "attempt", status=200)


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")
