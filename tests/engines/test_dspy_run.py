"""Whole runs of DSPy programs: real workers, a real store, a model server on loopback."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from skynet.runs.session import resume_run, run_project
from skynet.spec import load_spec
from tests.loopback import ModelServer, model_server

from .programs import COLOURS, filled, kind

__all__ = ["model_server"]

pytestmark = pytest.mark.xdist_group("dspy")

METRIC = """
def score(input, output, expected=None):
    right = output == expected["colour"]
    word = input["text"].split()[-1]
    with open("scored.txt", "a") as file:
        file.write(f"{input['text']}|{output}\\n")
    return float(right), {"feedback": "Right." if right else f"Wrong: {word} is {expected['colour']}."}
"""
SPEC = """
name = "colours"
objective = "Name the colour."
engine = ENGINE
[artifact]
kind = "dspy"
path = "program.py"
[data]
path = "rows.jsonl"
inputs = ["text"]
outputs = ["colour"]
split = { train = 9, val = 6, test = 6 }
[models]
task = { name = "openai/task", base_url = "URL" }
reflection = { name = "openai/proposer", base_url = "URL" }
[budget]
metric_calls = 120
[evaluation]
concurrency = 4
repeats = REPEATS
"""


def write(folder: Path, url: str, engine: str, repeats: int = 1) -> Path:
    rows = [{"text": f"item {number} of kind {kind(number)}", "colour": COLOURS[kind(number)]} for number in range(21)]
    files = {
        "program.py": 'import dspy\nprogram = dspy.Predict("text -> colour")\n',
        "metric.py": METRIC,
        "rows.jsonl": "\n".join(json.dumps(row) for row in rows),
        "skynet.toml": SPEC.replace("ENGINE", engine).replace("URL", url).replace("REPEATS", str(repeats)),
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def reply(body: dict[str, Any]) -> str:
    """The task model knows alpha, and what its instructions say; the proposer repeats the rules that it reads."""
    text = "\n".join(str(message["content"]) for message in body["messages"])
    if body["model"] == "proposer":
        rules = [f"{word} is {colour}" for word, colour in COLOURS.items() if f"{word} is {colour}" in text]
        return filled(text, "Name it. " + ". ".join(rules))
    word = body["messages"][-1]["content"].split("of kind ")[1].split()[0]
    return filled(text, COLOURS[word] if word == "alpha" or f"{word} is" in text else "red")


@pytest.mark.parametrize("optimizer", ["GEPA", "MIPROv2"])
def test_a_program_is_improved_and_the_verdict_says_so(
    optimizer: str, tmp_path: Path, model_server: ModelServer
) -> None:
    model_server.reply = reply
    engine = f'{{ name = "dspy", optimizer = "{optimizer}" }}'
    result = run_project(load_spec(write(tmp_path, model_server.url, engine)))
    assert result.status in ("finished", "stopped"), result
    if optimizer == "GEPA":
        assert result.changed
        assert (result.best["val"], result.best["test"]) == (1.0, 1.0)
    assert result.metric_calls <= 120
    scored = (tmp_path / "scored.txt").read_text().splitlines()
    assert len(scored) == result.metric_calls


@pytest.mark.parametrize("repeats", [1, 2])
def test_a_stopped_run_is_resumed_without_running_or_scoring_anything_again(
    repeats: int, tmp_path: Path, model_server: ModelServer
) -> None:
    def interrupt(body: dict[str, Any]) -> str:
        if body["model"] == "proposer":
            raise_in_main()
        return reply(body)

    def raise_in_main() -> None:
        signal.raise_signal(signal.SIGINT)

    model_server.reply = interrupt
    folder = write(tmp_path, model_server.url, '"dspy"', repeats)
    first = run_project(load_spec(folder))
    assert first.status == "interrupted"
    before = (folder / "scored.txt").read_text().splitlines()
    model_server.reply = reply
    second = resume_run(folder, first.run)
    assert second.status == "finished"
    assert (second.best["val"], second.best["test"]) == (1.0, 1.0)
    scored = (folder / "scored.txt").read_text().splitlines()
    assert scored[: len(before)] == before
    assert len(scored) == second.metric_calls
    rows = [(row["split"], row["case"], row["repetition"]) for row in second.data["cases"] if row["best"]]
    assert {number for _, _, number in rows} == set(range(repeats))
    assert len(rows) == repeats * (6 + 6)  # val and test: the best stands on every repetition
