from __future__ import annotations

from pathlib import Path

from skynet.models.gateway import Gateway
from skynet.models.ledger import Ledger
from skynet.models.seeded import Seeded
from skynet.spec import ModelSpec, ModelsSpec
from tests.loopback import ModelServer


def test_every_request_carries_the_seed_beside_what_was_asked(model_server: ModelServer) -> None:
    spec = ModelsSpec(metric=ModelSpec(name="openai/loopback", base_url=model_server.url, params={"top_p": 0.5}))
    gateway = Gateway(spec, Path.cwd(), ledger=Ledger(), environ={})
    door = Seeded(gateway, 7)
    door.complete("metric", [{"role": "user", "content": "Hi"}], extra={"stop": ["x"]}, temperature=0.5)
    door.close()
    door.complete("metric", [{"role": "user", "content": "Hi"}])
    gateway.close()
    [first, second] = [request.body for request in model_server.requests]
    assert (first["seed"], first["stop"], first["top_p"], first["temperature"]) == (7, ["x"], 0.5, 0.5)
    assert second["seed"] == 7
    assert (door.has("metric"), door.describe("metric"), door.price("metric")) == (
        True, gateway.describe("metric"), None,
    )  # fmt: skip
