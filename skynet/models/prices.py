"""What a model's tokens cost: the spec's price, else the price map that LiteLLM ships, else unknown."""

from __future__ import annotations

import functools
import importlib.util
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skynet.errors import SkynetError

if TYPE_CHECKING:
    from skynet.spec import ModelSpec

LOCAL_PREFIX = "local/"
MAP_FILE = "model_prices_and_context_window_backup.json"


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars per million tokens, read (`input`) and written (`output`)."""

    input: float
    output: float

    def cost(self, prompt_tokens: int | None, completion_tokens: int | None) -> float | None:
        """Return the dollars of one call; None when a priced side was not counted."""
        prompt = _part(self.input, prompt_tokens)
        completion = _part(self.output, completion_tokens)
        return None if prompt is None or completion is None else prompt + completion


def _part(price: float, tokens: int | None) -> float | None:
    if price == 0:
        return 0.0
    return None if tokens is None else price * tokens / 1e6


def price_of(spec: ModelSpec) -> Price | None:
    """Return the price of a model, or None when nobody names one.

    A `local/` model is free. A model with a `base_url` is priced by the spec only: a server of one's own that borrows
    a vendor's model name does not charge the vendor's price.
    """
    if spec.price is not None:
        return Price(input=spec.price.input, output=spec.price.output)
    if spec.name.startswith(LOCAL_PREFIX):
        return Price(0.0, 0.0)
    return None if spec.base_url is not None else map_price(spec.name)


def map_price(name: str) -> Price | None:
    """Return LiteLLM's price for `name`, written with or without its provider's prefix."""
    entry = _price_map().get(name)
    if entry is None:
        provider, _, bare = name.partition("/")
        entry = _price_map().get(bare)
        if entry is None or entry.get("litellm_provider") != provider:
            return None
    prompt, completion = entry.get("input_cost_per_token"), entry.get("output_cost_per_token")
    if not isinstance(prompt, int | float) or not isinstance(completion, int | float):
        return None
    return Price(prompt * 1e6, completion * 1e6)


def map_provider(name: str) -> str | None:
    """Return the provider of `name` as LiteLLM's map has it, None where the map does not know it."""
    provider, slash, _ = name.partition("/")
    if slash and provider in _map_providers():
        return provider
    known: str | None = _price_map().get(name, {}).get("litellm_provider")
    return known


def map_names() -> list[str]:
    """Return the names of all chat models in LiteLLM's map, each with its provider's prefix."""
    chat = {name: entry["litellm_provider"] for name, entry in _price_map().items() if entry.get("mode") == "chat"}
    return [name if "/" in name else f"{provider}/{name}" for name, provider in chat.items()]


@functools.cache
def _map_providers() -> frozenset[str]:
    return frozenset(str(entry.get("litellm_provider")) for entry in _price_map().values())


@functools.cache
def _price_map() -> dict[str, dict[str, Any]]:
    # Read as a file: importing litellm for it takes seconds, and finding the package does not import it.
    found = importlib.util.find_spec("litellm")
    if found is None or found.origin is None:
        raise SkynetError("The package litellm, which holds the price map, is not installed: pip install litellm")
    path = Path(found.origin).parent / MAP_FILE
    loaded: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return loaded
