"""The tutorials of docs/tutorials, done as they are written: files made, scripts and commands run, in order."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from skynet.evaluation.child_metric import load_file
from tests.cli.command import skynet
from tests.loopback import ModelServer

PAGES = sorted((Path(__file__).parents[1] / "docs" / "tutorials").glob("*.md"))
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"`([\w./]+\.\w+)`:\s*$")  # a file's name and a colon end the paragraph before its content
SERVER = "http://127.0.0.1:8080/v1"
KINDS = {"python", "toml", "yaml", "csv", "sh"}


def judged(body: dict[str, Any]) -> str:
    elsewhere = "Look" in body["messages"][1]["content"]
    return json.dumps({"reason": "By its words.", "choice": "not settled" if elsewhere else "settled"})


@pytest.fixture
def server() -> Iterator[ModelServer]:
    server = ModelServer(judged)
    yield server
    server.close()


def run_script(text: str, page: str) -> None:
    exec(compile(text, page, "exec"), {"__name__": "notebook"})


def run_commands(text: str) -> None:
    for line in text.splitlines():
        words = shlex.split(line)
        assert words[0] == "skynet"
        done = skynet(*words[1:])
        assert done.status == 0, f"{line}\n{done.out}\n{done.err}"


def follow(page: Path, folder: Path, server: ModelServer) -> None:
    """Do what the page says in `folder`, which is the working folder."""
    text = page.read_text(encoding="utf-8").replace(SERVER, server.url)
    for found in BLOCK.finditer(text):
        kind, block = found.groups()
        assert kind in KINDS
        file = NAMED.search(text[: found.start()])
        if file is not None:
            (folder / file[1]).parent.mkdir(exist_ok=True)
            (folder / file[1]).write_text(block, encoding="utf-8")
        elif kind == "python":
            run_script(block, page.name)
        elif kind == "yaml":
            (folder / "shown.yaml").write_text(block, encoding="utf-8")
            load_file(folder / "shown.yaml")
        else:
            assert kind == "sh", f"the {kind} block is no file: {block}"
            run_commands(block)


@pytest.mark.parametrize("page", [page for page in PAGES if page.stem != "judge"], ids=lambda page: page.stem)
def test_a_tutorial_can_be_followed(
    page: Path, tmp_path: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    follow(page, tmp_path, server)


def test_the_tutorial_of_the_judge_can_be_followed_and_the_judge_agrees_with_its_labels(
    tmp_path: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    follow(next(page for page in PAGES if page.stem == "judge"), tmp_path, server)
    told = skynet("judge", "calibrate", "answers.csv", "--json").json
    assert (told["judged"], told["columns"][0]["agreement"]["agreed"]) == (4, 4)
    summary = json.loads((tmp_path / "judged" / "summary.json").read_text())
    assert summary["metrics"]["settled"]["average_score"] == 0.5


def test_there_is_a_tutorial_for_each_way_to_a_metric() -> None:
    assert [page.stem for page in PAGES] == ["components", "judge", "metric"]
