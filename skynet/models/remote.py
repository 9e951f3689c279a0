"""A backend for the providers that LiteLLM knows. LiteLLM takes seconds to import, so that waits for the first need."""

from __future__ import annotations

import dataclasses
import os
import threading
import time
from typing import Any

from skynet.errors import nearest
from skynet.models.backend import ModelRequest, ProviderFault, RawReply
from skynet.models.faults import NO_MONEY, refusal
from skynet.models.keys import Keys
from skynet.models.prices import map_names, map_provider
from skynet.models.wire import chat_body, read_reply


def load_litellm() -> Any:
    """Import LiteLLM with its local price map, which keeps the import off the network, and return the module."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import litellm

    litellm.suppress_debug_info = True  # it prints adverts for its issue tracker on every error
    return litellm


def load_in_background() -> threading.Thread:
    """Start importing LiteLLM on a thread; a call made meanwhile waits for the same import."""
    thread = threading.Thread(target=load_litellm, name="skynet-litellm", daemon=True)
    thread.start()
    return thread


def require_usable(model: str, key: str | None, keys: Keys) -> None:
    """Raise ProviderFault where LiteLLM knows no provider for the name, or the provider's key is nowhere.

    `key` is the one that the spec names, None where it names none. Waits for LiteLLM only where that has to tell.
    """
    provider = map_provider(model)
    if provider is not None and (key or keys.find(f"{provider.upper()}_API_KEY")):
        return
    litellm = load_litellm()
    _require_provider(litellm, model)
    if key is None:
        _well_known_key(litellm, model, keys)


def _require_provider(litellm: Any, model: str) -> None:
    try:
        litellm.get_llm_provider(model)
    except litellm.exceptions.BadRequestError:
        fault = ProviderFault(
            f"LiteLLM knows no provider for this name.{nearest(model, map_names())} Under [models] a name is "
            "provider/model, such as openai/gpt-4.1-mini; a server of your own is called with any name and its "
            'base_url: { name = "openai/my-model", base_url = "http://localhost:8000/v1" }.',
            "model",
        )
    else:
        return
    raise fault


def _well_known_key(litellm: Any, model: str, keys: Keys) -> str | None:
    """Return the key from `.env` under the name that LiteLLM misses; it reads the environment by itself.

    Raises ProviderFault when the provider takes one key and it is nowhere: its own client would call that a fault of
    the server, which is tried again and again.
    """
    missing = litellm.validate_environment(model=model)["missing_keys"]
    key = keys.first(name for name in missing if name.endswith("_API_KEY"))
    if key is None and len(missing) == 1 and missing[0].endswith("_API_KEY"):
        words = f"no key is set: put {missing[0]} into the environment, or into .env beside skynet.toml"
        raise ProviderFault(words, "model")
    return key


class RemoteBackend:
    """One model behind LiteLLM. The key is `api_key_env`'s, else the provider's well-known one."""

    def __init__(self, model: str, key: str | None, keys: Keys) -> None:
        self._model = model
        self._key = key
        self._keys = keys

    def complete(self, request: ModelRequest) -> RawReply:
        """Make one attempt; the import of LiteLLM does not count in its latency."""
        litellm = load_litellm()
        body = chat_body(request)
        if "extra_body" in request.extra:
            body["extra_body"] = request.extra["extra_body"]
        _require_provider(litellm, self._model)
        key = self._key or _well_known_key(litellm, self._model, self._keys)
        started = time.perf_counter()
        try:
            reply = litellm.completion(**body, api_key=key, timeout=request.timeout, num_retries=0, max_retries=0)
        except Exception as error:  # noqa: BLE001 - LiteLLM raises what its many providers' clients raise
            fault = _fault(error)
        else:
            latency_ms = (time.perf_counter() - started) * 1000
            return dataclasses.replace(read_reply(reply.model_dump(), request), latency_ms=latency_ms)
        raise fault  # outside the handler, so that no exception that may quote a key hangs on it

    def close(self) -> None:
        """Do nothing: LiteLLM keeps its own clients."""


def _fault(error: Exception) -> ProviderFault:
    status = getattr(error, "status_code", None)
    words = str(getattr(error, "message", "") or error) or type(error).__name__
    if not isinstance(status, int):  # not a provider's reply: a missing package, a wrong parameter
        return ProviderFault(f"{type(error).__name__}: {words}", "request")
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    own_headers = getattr(error, "litellm_response_headers", None) or {}
    return refusal(status, words, NO_MONEY if NO_MONEY in words else None, {**headers, **own_headers})
