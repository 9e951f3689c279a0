from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from skynet.models.gateway import Gateway
from skynet.models.ledger import Ledger
from skynet.models.retry import RetryPolicy
from skynet.spec import ModelSpec, ModelsSpec
from tests.loopback import ModelServer, model_server

__all__ = ["model_server"]

MakeGateway = Callable[..., Gateway]
PRICE = {"input": 1_000_000.0, "output": 2_000_000.0}  # a dollar a word in, two a word out


@pytest.fixture
def make_gateway(model_server: ModelServer, tmp_path: Path) -> Iterator[MakeGateway]:
    """Make a gateway whose task model is the loopback server; without a model when `task` is None."""
    made: list[Gateway] = []

    def make(task: Mapping[str, Any] | None = {}, **options: Any) -> Gateway:
        fields = {"name": "openai/small", "base_url": model_server.url, "price": PRICE, **(task or {})}
        models = ModelsSpec() if task is None else ModelsSpec(task=ModelSpec(**fields))
        retry = RetryPolicy(attempts=3, first_wait=0.4, longest_wait=0.4)
        made.append(Gateway(models, tmp_path, ledger=Ledger(), environ={}, retry=retry, **options))
        return made[-1]

    yield make
    for gateway in made:
        gateway.close()
