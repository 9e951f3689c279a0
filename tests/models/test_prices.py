from __future__ import annotations

import subprocess
import sys

import pytest

from skynet.models.prices import Price, map_price, price_of
from skynet.spec import ModelSpec, PriceSpec


@pytest.mark.parametrize("name", ["gpt-4o-mini", "openai/gpt-4o-mini"])
def test_a_known_name_has_the_maps_price(name: str) -> None:
    price = price_of(ModelSpec(name=name))
    assert price is not None
    assert price.input == pytest.approx(0.15)
    assert price.output == pytest.approx(0.6)


@pytest.mark.parametrize("name", ["no-such-model", "azure/no-such", "anthropic/gpt-4o-mini"])
def test_an_unknown_name_has_no_price(name: str) -> None:
    assert map_price(name) is None


def test_the_specs_price_wins() -> None:
    spec = ModelSpec(name="gpt-4o-mini", price=PriceSpec(input=1, output=2))
    assert price_of(spec) == Price(1, 2)


def test_a_server_of_ones_own_is_not_billed_as_the_vendor_whose_name_it_borrows() -> None:
    assert price_of(ModelSpec(name="openai/gpt-4o-mini", base_url="http://localhost:1/v1")) is None


def test_a_local_model_is_free_whatever_it_counts() -> None:
    price = price_of(ModelSpec(name="local/smollm2-135m"))
    assert price is not None
    assert price.cost(None, None) == 0.0


@pytest.mark.parametrize(
    ("price", "tokens", "cost"),
    [
        (Price(2, 4), (1_000_000, 500_000), 4.0),
        (Price(2, 4), (None, 5), None),
        (Price(2, 4), (5, None), None),
        (Price(0, 4), (None, 1_000_000), 4.0),
        (Price(2, 4), (0, 0), 0.0),
    ],
)
def test_a_cost_is_tokens_times_price(
    price: Price, tokens: tuple[int | None, int | None], cost: float | None
) -> None:
    assert price.cost(*tokens) == cost


def test_looking_a_price_up_does_not_import_litellm() -> None:
    code = "import sys; from skynet.models.prices import map_price as p; p('gpt-4o'); print('litellm' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
