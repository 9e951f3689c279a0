"""Model calls that outlive the case or the engine that made them: paid at the server, so booked in the run."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from skynet.engine import Models, SearchEvaluator, SearchTask
from skynet.runs import schema
from skynet.runs.result import RunResult
from skynet.runs.session import Given, open_store, run_project
from skynet.spec import load_spec
from tests.loopback import Body, ModelServer, model_server

from .chats import write_chat
from .cut_runs import in_flight
from .scripted import Scripted, scripted

__all__ = ["model_server", "scripted"]

WAITS_SHORT = """
import http.client, json, os
from urllib.parse import urlsplit

def run(artifact, input):
    url = urlsplit(os.environ["OPENAI_BASE_URL"])
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=0.1)
    body = json.dumps({"model": "task", "messages": [{"role": "user", "content": input["text"]}]})
    key = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
    try:
        connection.request("POST", "/v1/chat/completions", body, key)
        return json.loads(connection.getresponse().read())["choices"][0]["message"]["content"]
    except TimeoutError:
        return "label 1"
"""
LEFT_BEHIND = """
import threading
import skynet

def score(input, output, expected=None):
    threading.Thread(target=skynet.llm, args=("Is it right?",), daemon=True).start()
    return 0.5, {"feedback": "fine"}
"""


def drive(folder: Path) -> RunResult:
    return run_project(load_spec(folder), Given(accept=True))


def billed(server: ModelServer) -> float:
    """Return what the server bills: a dollar a million words in, two out, as the project's price says."""
    usage = [server.completion(request.body)["usage"] for request in server.requests]
    return float(sum(one["prompt_tokens"] + 2 * one["completion_tokens"] for one in usage)) / 1e6


def late(server: ModelServer, role: str, seconds: float) -> None:
    """Have one role's model answer after `seconds`, the others at once."""

    def reply(body: Body) -> str:
        if body["model"] == role:
            time.sleep(seconds)
        return "```\nlabel 2\n```" if body["model"] == "writer" else "one word"

    server.reply = reply


def rows(folder: Path, table: Any) -> list[dict[str, Any]]:
    with open_store(folder, create=False) as store:
        (row,) = store.runs()
        return list(store.rows(row.id, table))


def test_a_target_that_gives_up_waiting_pays_for_the_reply(model_server: ModelServer, tmp_path: Path) -> None:
    late(model_server, "task", 0.3)
    target = '[target]\nkind = "python"\npath = "run.py"\n'
    folder = write_chat(tmp_path, model_server, 'name = "best_of_n"\nn = 1', run=WAITS_SHORT)
    spec = folder / "skynet.toml"
    spec.write_text(spec.read_text("utf-8").replace('[target]\nkind = "chat"\n', target), "utf-8")
    result = drive(folder)
    late(model_server, "task", 0)
    assert result.status == "finished"
    costs = [item["cost_usd"] for item in rows(folder, schema.evaluations) if item["cost_usd"] is not None]
    assert len(costs) >= 10
    assert costs == [pytest.approx((2 + 2 * 2) / 1e6)] * len(costs)
    assert result.cost_usd == pytest.approx(billed(model_server), abs=1e-12)
    assert in_flight(folder)["model_calls"] == 0


def test_a_metric_that_leaves_a_call_behind_pays_for_it(model_server: ModelServer, tmp_path: Path) -> None:
    late(model_server, "writer", 0.2)  # which stands in for the metric model
    folder = write_chat(tmp_path, model_server, 'name = "best_of_n"\nn = 1', metric=LEFT_BEHIND)
    result = drive(folder)
    late(model_server, "writer", 0)
    assert result.cost_usd == pytest.approx(billed(model_server), abs=1e-12)
    assert in_flight(folder)["model_calls"] == 0


def test_the_end_of_a_run_waits_for_a_call_that_the_engine_left_behind(
    scripted: type[Scripted], model_server: ModelServer, tmp_path: Path
) -> None:
    late(model_server, "writer", 1.0)

    def search(task: SearchTask, evaluator: SearchEvaluator, models: Models) -> None:
        ask = [{"role": "user", "content": "Write."}]
        threading.Thread(target=models.complete, args=(ask,), daemon=True).start()
        deadline = time.monotonic() + 20
        while not any(request.body["model"] == "writer" for request in model_server.requests):
            assert time.monotonic() < deadline
            time.sleep(0.01)

    scripted.script = staticmethod(search)
    folder = write_chat(tmp_path, model_server, 'name = "scripted"')
    result = drive(folder)
    late(model_server, "writer", 0)
    assert [item["status"] for item in rows(folder, schema.model_calls) if item["role"] == "reflection"] == ["ok"]
    assert result.cost_usd == pytest.approx(billed(model_server), abs=1e-12)
