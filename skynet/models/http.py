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
    from collections.abc import Iterator, Mapping

    import httpx

CONNECT_SECONDS = 10.0
OWN_HOSTS = ("localhost", "127.0.0.1", "[::1]")  # never sent through a proxy
NOT_SENT = "openai/"  # LiteLLM's prefix for a compatible server, no part of the model's name


class HttpClient:
    """The httpx client of a gateway, made on first use, since importing httpx takes a while."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._client: httpx.Client | None = None
        self._busy = 0
        self._closing = False

    @contextmanager
    def using(self) -> Iterator[httpx.Client]:
        """Lend the one client; after close() there is none to lend, which is a transient ProviderFault."""
        with self._lock:
            if self._closing:
                raise ProviderFault("the gateway is closed", transient=True)
            if self._client is None:
                self._client = _new_client()
            self._busy += 1
            client = self._client
        try:
            yield client
        finally:
            with self._lock:
                self._busy -= 1
                self._close_when_idle()

    def close(self) -> None:
        """Close the connections when the last request in flight has ended: closing one under a reader is unsafe."""
        with self._lock:
            self._closing = True
            self._close_when_idle()

    def _close_when_idle(self) -> None:
        if self._closing and self._busy == 0 and self._client is not None:
            self._client.close()


def _new_client() -> httpx.Client:
    import httpx

    return httpx.Client(
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=256),
        mounts={f"all://{host}": None for host in OWN_HOSTS},
    )


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
            raise ProviderFault(words, transient=True, status=status)
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
            return ProviderFault(words, transient=False)
        if isinstance(error, httpx.TimeoutException):
            words = f"no complete reply from {self._base_url} within {timeout:g} s ({type(error).__name__})"
            return ProviderFault(words, transient=True)
        return ProviderFault(f"{self._base_url}: {type(error).__name__}: {error}", transient=True)


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
    raise ProviderFault(words, transient=True, status=200)


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")
