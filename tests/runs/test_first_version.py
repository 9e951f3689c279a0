from __future__ import annotations

from pathlib import Path

import pytest

from skynet.runs.result import RunResult
from skynet.runs.session import Given, run_project
from skynet.spec import load_spec
from tests.loopback import ModelServer, model_server, status

from .chats import GOOD, answer, write_chat
from .plans import drive

__all__ = ["model_server"]

FENCED = f"Sure:\n```\n{GOOD}\n```"


def run(folder: Path, server: ModelServer, more: str = "", engine: str = 'name = "best_of_n"\nn = 1') -> RunResult:
    """Run a project that has no start version."""
    write_chat(folder, server, engine, more=more)
    toml = folder / "skynet.toml"
    text = toml.read_text(encoding="utf-8")
    assert 'path = "start.txt"' in text
    text = text.replace('path = "start.txt"\n', "")
    text = text.replace('"Sort the texts."', '"Sort the texts."\nbackground = "Old."')
    toml.write_text(text, encoding="utf-8")
    return drive(folder)


def test_the_first_version_is_written_by_the_reflection_model_and_is_the_start_everywhere(
    tmp_path: Path, model_server: ModelServer
) -> None:
    model_server.reply = answer(lambda number: FENCED)
    result = run(tmp_path, model_server)
    assert (result.status, result.finish_reason) == ("finished", "perfect")
    assert result.best.text == GOOD
    assert result.baseline == result.best
    assert (result.data["versions"][0]["status"], result.baseline["test"]) == ("start", 1.0)


def test_the_writer_is_given_objective_background_and_train_inputs_only(
    tmp_path: Path, model_server: ModelServer
) -> None:
    asked: list[str] = []
    model_server.reply = answer(lambda number: FENCED, asked)
    result = run(tmp_path, model_server)
    assert "Sort the texts." in asked[0]
    assert "Old." in asked[0]
    sealed = {row["input"]["text"] for row in result.data["cases"]}
    every = {f"text {number}" for number in range(10)}
    assert len(sealed) == 4
    assert all(text in asked[0] for text in every - sealed)
    assert not any(text in asked[0] for text in sealed)
    assert "label" not in asked[0]


UNUSABLE = {
    "": "the reply was empty",
    "```\n```": "the reply was empty",
    "```\none\n```\n```\ntwo\n```": "the reply holds 2 code fences",
    "```\none": "the code fence is never closed",
    "```\nSay\x00it\n```": "it holds a NUL character",
}


@pytest.mark.parametrize("bad", UNUSABLE)
def test_an_unusable_reply_is_asked_for_again_and_its_writer_is_told_why(
    tmp_path: Path, model_server: ModelServer, bad: str
) -> None:
    asked: list[str] = []
    model_server.reply = answer(lambda number: bad if number < 3 else FENCED, asked)
    assert run(tmp_path, model_server).best.text == GOOD
    first, second, third = [one.body["messages"] for one in model_server.requests if one.body["model"] == "writer"]
    told = f"Your reply cannot be used: {UNUSABLE[bad]}"
    assert (told in asked[0], told in asked[1], told in asked[2]) == (False, True, True)
    assert "Sort the texts." in second[0]["content"]
    assert [turn["role"] for turn in second] == (["user", "assistant", "user"] if bad else ["user"])
    assert all(turn["content"].strip() for turn in (*first, *second, *third))


@pytest.mark.parametrize(
    ("bad", "cause"),
    [
        ("```\ndef run(input:\n    return 1\n```", "it is not valid Python (line 1)"),
        ("```\ndef go(input):\n    return 1\n```", "it defines no function 'run'"),
    ],
)
def test_code_that_cannot_be_a_version_is_no_first_version(
    tmp_path: Path, model_server: ModelServer, bad: str, cause: str
) -> None:
    asked: list[str] = []
    right = '```\ndef run(input):\n    return input["text"].replace("text", "label")\n```'
    model_server.reply = answer(lambda number: right if number == 2 else bad, asked)
    write_chat(tmp_path, model_server, 'name = "best_of_n"\nn = 1')
    toml = tmp_path / "skynet.toml"
    text = toml.read_text(encoding="utf-8").replace('path = "start.txt"\n', 'kind = "code"\n')
    toml.write_text(text.replace('kind = "chat"', "timeout = 20"), encoding="utf-8")
    result = run_project(load_spec(tmp_path), Given(accept=True, accept_code=True))
    assert (result.finish_reason, result.baseline["test"]) == ("perfect", 1.0)
    assert len(asked) == 2
    assert cause in asked[1]


@pytest.mark.parametrize(("bad", "cause"), UNUSABLE.items())
def test_three_unusable_replies_end_the_run_with_the_cause(
    tmp_path: Path, model_server: ModelServer, bad: str, cause: str
) -> None:
    asked: list[str] = []
    model_server.reply = answer(lambda number: bad, asked)
    result = run(tmp_path, model_server)
    assert (result.status, result.finish_reason) == ("failed", "reflection_broken")
    assert cause in result.message
    assert "name a file under [artifact] path" in result.message
    assert len(asked) == 3
    assert result.data["versions"] == []


def test_a_refusing_provider_ends_the_run_with_its_words(tmp_path: Path, model_server: ModelServer) -> None:
    model_server.fail_always(status(401, "no such key"))
    result = run(tmp_path, model_server)
    assert (result.status, result.finish_reason) == ("failed", "provider")
    assert "no such key" in result.message


def test_the_choices_are_told_to_the_writer(tmp_path: Path, model_server: ModelServer) -> None:
    asked: list[str] = []
    model_server.reply = answer(lambda number: "Pick.", asked)
    write_chat(tmp_path, model_server, 'name = "best_of_n"\nn = 1')
    toml = tmp_path / "skynet.toml"
    text = toml.read_text(encoding="utf-8").replace('path = "start.txt"\n', "")
    toml.write_text(text.replace('kind = "chat"', 'kind = "chat"\nchoices = ["red", "green"]'), encoding="utf-8")
    drive(tmp_path)
    assert "# Allowed replies\nred\ngreen" in asked[0]
