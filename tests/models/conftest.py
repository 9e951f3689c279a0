from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from skynet.models.gateway import Gateway
from skynet.models.ledger import Ledger
from skynet.models.retry import RetryPolicy
from skynet.spec import ModelSpec, ModelsSpec
from tests.embedded import embedded_model
from tests.loopback import ModelServer, model_server

__all__ = ["embedded_model", "model_server"]

MakeGateway = Callable[..., Gateway]
QUICK = RetryPolicy(attempts=4, first_wait=0.01, longest_wait=0.3)


@pytest.fixture
def make_gateway(model_server: ModelServer, tmp_path: Path) -> Iterator[MakeGateway]:
    """Make a gateway whose task model is the loopback server; `task` changes fields of that model."""
    made: list[Gateway] = []

    def make(
        task: Mapping[str, Any] | None = None,
        *,
        models: ModelsSpec | None = None,
        ledger: Ledger | None = None,
        environ: Mapping[str, str] | None = None,
        **options: Any,
    ) -> Gateway:
        fields = {"name": "openai/small", "base_url": model_server.url, **(task or {})}
        options.setdefault("retry", QUICK)
        gateway = Gateway(
            models or ModelsSpec(task=ModelSpec(**fields)),
            tmp_path,
            ledger=ledger if ledger is not None else Ledger(),
            environ=environ or {},
            **options,
        )
        made.append(gateway)
        return gateway

    yield make
    for gateway in made:
        gateway.close()
