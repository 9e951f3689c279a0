from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from skynet.runs.report import render_markdown
from tests.loopback import ModelServer, model_server

from .chats import GOOD, PRICE, answer, write_chat
from .plans import drive, plan, write_plans
from .scripted import scripted

__all__ = ["model_server", "scripted"]


def chatted(folder: Path, server: ModelServer, price: str, more: str = "") -> dict[str, Any]:
    server.reply = answer(lambda number: f"```\n{GOOD}\n```")
    return dict(drive(write_chat(folder, server, 'name = "best_of_n"\nn = 1', price=price, more=more)).data)


def test_dollars_without_a_price_are_unknown_everywhere_and_nowhere_0(
    tmp_path: Path, model_server: ModelServer
) -> None:
    data = chatted(tmp_path, model_server, "")
    assert data["budget"]["usd"] == {"limit": None, "used": None, "lower_bound": True}
    assert {(point["usd"], point["usd_lower_bound"]) for point in data["curve"]} == {(None, True)}
    assert "$0" not in render_markdown(data)


def test_dollars_of_priced_models_are_all_there_are(tmp_path: Path, model_server: ModelServer) -> None:
    data = chatted(tmp_path, model_server, PRICE)
    assert data["budget"]["usd"]["used"] > 0
    assert data["budget"]["usd"]["lower_bound"] is False
    assert [point["usd_lower_bound"] for point in data["curve"]] == [False, False]
    assert not any("lower bound" in note for note in data["notes"])


def test_the_curve_is_exact_until_a_model_without_a_price_is_called(tmp_path: Path, model_server: ModelServer) -> None:
    model_server.reply = answer(lambda number: f"```\n{GOOD}\n```")
    folder = write_chat(tmp_path, model_server, 'name = "best_of_n"\nn = 1')
    spec = folder / "skynet.toml"
    task, reflection = spec.read_text("utf-8").split("[models.reflection]")
    spec.write_text(f"{task}[models.reflection]{reflection.replace(f'price = {PRICE}', '')}", encoding="utf-8")
    data = drive(folder).data
    assert [point["usd_lower_bound"] for point in data["curve"]] == [False, True]
    assert data["budget"]["usd"]["lower_bound"]
    assert data["budget"]["usd"]["used"] >= data["curve"][1]["usd"] > data["curve"][0]["usd"] > 0


def test_a_run_without_models_costs_0(tmp_path: Path, scripted: object) -> None:
    result = drive(write_plans(tmp_path, plan("start")))
    assert result.data["budget"]["usd"] == {"limit": None, "used": 0.0, "lower_bound": False}
    assert result.cost_usd == 0.0


def test_what_a_target_with_keys_of_its_own_spends_is_unknown(
    tmp_path: Path, scripted: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_API_KEY", "k")
    folder = write_plans(tmp_path, plan("start"))
    spec = folder / "skynet.toml"
    spec.write_text(spec.read_text("utf-8").replace("[metric]\n", 'env = ["MY_API_KEY"]\n[metric]\n', 1))
    result = drive(folder)
    assert result.cost_usd is None
    assert result.data["budget"]["usd"]["used"] is None
    assert any("What the target spends itself" in note for note in result.data["notes"])
