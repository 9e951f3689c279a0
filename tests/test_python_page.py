"""docs/python.md, followed from top to bottom like a notebook: its files made, its blocks run in one namespace."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import skynet
from tests.loopback import ModelServer

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "python.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"`([\w./]+\.\w+)`:\s*$")  # a file's name and a colon stand before its content
SERVER = "http://127.0.0.1:8080/v1"
FILES = ("toml", "text", "csv")


def reply(body: dict[str, Any]) -> str:
    """Sort a message, bare once the prompt asks for it; judge; or write a better prompt."""
    first, last = (body["messages"][index]["content"] for index in (0, -1))
    if "PASS or FAIL" in first:
        return "PASS" if " " not in last else "FAIL"
    if "sort" not in first.lower() or len(body["messages"]) == 1:
        return "```\nSort the message. Reply with the bare name of the team.\n```"
    team = "billing" if "invoice" in last else "shipping"
    return team if "bare" in first else f"It is for {team}."


@pytest.fixture
def server() -> Iterator[ModelServer]:
    server = ModelServer(reply)
    yield server
    server.close()


def test_the_page_can_be_followed(
    tmp_path: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    notebook: dict[str, Any] = {"__name__": "notebook"}
    text = PAGE.replace(SERVER, server.url)
    for found in BLOCK.finditer(text):
        kind, block = found.groups()
        if kind == "python":
            exec(compile(block, "docs/python.md", "exec"), notebook)
            continue
        assert kind in FILES
        file = NAMED.search(text[: found.start()])
        assert file is not None, f"the {kind} block has no name: {block}"
        (tmp_path / file[1]).parent.mkdir(exist_ok=True)
        (tmp_path / file[1]).write_text(block, encoding="utf-8")
    assert (tmp_path / "prompt.md").read_text() == "Sort the message. Reply with the bare name of the team."
    printed = capsys.readouterr().out
    assert "A gain of +1 on test" in printed
    assert "The contract check passed" in printed


def test_every_name_of_the_package_is_on_the_page() -> None:
    assert [name for name in skynet.__all__ if f"`{name}" not in PAGE and f"`skynet.{name}" not in PAGE] == []


def test_the_pages_that_it_links_to_are_there() -> None:
    links = re.findall(r"\]\(([\w./]+\.md)", PAGE)
    assert links
    assert [link for link in links if not (DOCS / link).is_file()] == []
