from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from skynet.runs.result import RunResult
from tests.loopback import ModelServer, model_server, status

from .chats import GOOD, answer, write_chat
from .plans import RUN, drive, plan, ran, rows, write_plans
from .scripted import Scripted, scripted

__all__ = ["model_server", "scripted"]

GEPA = 'name = "gepa"\nmax_proposals = 2'
SAMPLES = 'name = "best_of_n"\nn = 3'


def fenced(text: str) -> str:
    return f"Here it is:\n```\n{text}\n```"


def rejections(result: RunResult) -> dict[str, int]:
    return {row["reason"]: row["count"] for row in result.data["rejections"]}


@pytest.mark.parametrize("engine", [GEPA, SAMPLES])
def test_a_rewriting_that_helps_is_found_and_proved(tmp_path: Path, model_server: ModelServer, engine: str) -> None:
    model_server.reply = answer(lambda number: fenced(GOOD))
    result = drive(write_chat(tmp_path, model_server, engine))
    assert (result.status, result.changed, result.best.text) == ("finished", True, GOOD)
    assert (result.baseline["test"], result.best["test"]) == (0.0, 1.0)
    assert {row["role"]: row["calls"] > 0 for row in result.data["ledger"]} == {"task": True, "reflection": True}


def test_demos_finds_demonstrations_for_a_chat(tmp_path: Path, model_server: ModelServer) -> None:
    def reply(body: dict[str, Any]) -> str:  # right where the prompt shows any answer
        last = str(body["messages"][-1]["content"])
        return last.replace("text", "label") if len(body["messages"]) > 2 else "no idea"

    model_server.reply = reply
    result = drive(write_chat(tmp_path, model_server, 'name = "demos"\nlabels = true'))
    assert (result.status, result.best["test"]) == ("finished", 1.0)
    assert result.data["demonstrations"]
    assert result.data["labels"] is True


@pytest.mark.parametrize("engine", [GEPA, SAMPLES])
def test_the_writer_sees_feedback_and_never_an_expected_value_or_a_test_case(
    tmp_path: Path, model_server: ModelServer, engine: str
) -> None:
    asked: list[str] = []
    model_server.reply = answer(lambda number: fenced(f"{GOOD} {number}"), asked)
    result = drive(write_chat(tmp_path, model_server, engine))
    assert "is no no idea" in asked[0]
    tests = {row["input"]["text"] for row in result.data["cases"] if row["split"] == "test"}
    assert not any(f"{text}\n" in prompt or f"{text} " in prompt for text in tests for prompt in asked)
    assert not any("label " in prompt for prompt in asked[:1])


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("Say it.", "it is identical to the version it came from"),
        (fenced("Say it."), "it is identical to the version it came from"),
        (fenced("one\x00two"), "it holds a NUL character"),
    ],
    ids=["the same", "the same in a fence", "NUL"],
)
def test_a_proposal_that_is_not_taken_costs_no_evaluation_and_its_writer_is_told(
    tmp_path: Path, model_server: ModelServer, reply: str, reason: str
) -> None:
    asked: list[str] = []
    model_server.reply = answer(lambda number: reply, asked)
    result = drive(write_chat(tmp_path, model_server))
    assert (result.status, result.finish_reason, result.changed) == ("finished", "engine_done", False)
    assert rejections(result) == {reason: 3}
    assert reason not in asked[0]
    assert reason in asked[1]
    assert len(result.data["versions"]) == 1


def test_two_fences_are_not_taken_and_the_writer_is_told(tmp_path: Path, model_server: ModelServer) -> None:
    asked: list[str] = []
    model_server.reply = answer(lambda number: "```\none\n```\nor\n```\ntwo\n```", asked)
    result = drive(write_chat(tmp_path, model_server))
    assert (result.status, len(result.data["versions"])) == ("finished", 1)
    assert "the reply holds 2 code fences" in asked[1]
    assert rejections(result) == {"the reply holds 2 code fences; put the whole text in exactly one": 3}


def test_a_text_seen_before_is_not_evaluated_again(tmp_path: Path, model_server: ModelServer) -> None:
    model_server.reply = answer(lambda number: fenced("Say it well."))
    result = drive(write_chat(tmp_path, model_server))
    (reason,) = rejections(result)
    assert "which was evaluated before" in reason
    assert len(result.data["versions"]) == 2


def test_a_lost_placeholder_is_not_taken(tmp_path: Path, model_server: ModelServer) -> None:
    model_server.reply = answer(lambda number: fenced(GOOD))
    result = drive(write_chat(tmp_path, model_server, start="Say {{ text }}."))
    (reason,) = rejections(result)
    assert "{{ text }}" in reason


@pytest.mark.parametrize(
    "text", ["回答标签。", "<side_info>x</side_info>", "{% if x %}{{ nothing }}", "{{", "</artifact> ```", "a" * 50_000]
)
def test_strange_texts_are_only_texts(tmp_path: Path, model_server: ModelServer, text: str) -> None:
    fence = "````" if "```" in text else "```"
    model_server.reply = answer(lambda number: f"{fence}\n{text}\n{fence}")
    result = drive(write_chat(tmp_path, model_server, 'name = "best_of_n"\nn = 1'))
    assert (result.status, result.finish_reason) == ("finished", "engine_done")
    assert [version["text"] for version in result.data["versions"]] == ["Say it.", text]


@pytest.mark.parametrize("engine", ['name = "gepa"', 'name = "best_of_n"'])
@pytest.mark.parametrize("reply", ["", "  \n"])
def test_five_empty_replies_in_a_row_end_the_run(
    tmp_path: Path, model_server: ModelServer, engine: str, reply: str
) -> None:
    asked: list[str] = []
    model_server.reply = answer(lambda number: reply, asked)
    result = drive(write_chat(tmp_path, model_server, engine))
    assert (result.status, result.finish_reason) == ("failed", "reflection_broken")
    assert "replied with nothing" in result.message
    assert len(asked) == 5
    assert result.baseline["val"] == 0.0


@pytest.fixture
def writer() -> Iterator[ModelServer]:
    server = ModelServer()
    yield server
    server.close()


def test_a_writer_that_always_fails_ends_the_run_with_the_providers_words(
    tmp_path: Path, model_server: ModelServer, writer: ModelServer
) -> None:
    writer.fail_always(status(503, "the model is asleep", retry_after="0"))
    result = drive(write_chat(tmp_path, model_server, 'name = "best_of_n"', writer=writer))
    assert (result.status, result.finish_reason) == ("failed", "reflection_broken")
    assert "failed 5 times in a row" in result.message
    assert "the model is asleep" in result.message
    assert result.baseline["val"] == 0.0


def test_a_writer_that_fails_now_and_then_is_asked_again(
    tmp_path: Path, model_server: ModelServer, writer: ModelServer
) -> None:
    writer.fail(*[status(503, "the model is asleep", retry_after="0")] * 5)
    model_server.reply = writer.reply = answer(lambda number: fenced(GOOD))
    result = drive(write_chat(tmp_path, model_server, 'name = "best_of_n"\nn = 2', writer=writer))
    assert (result.status, result.best["test"]) == ("finished", 1.0)
    assert len(writer.requests) == 6


@pytest.mark.parametrize(("code", "words"), [(401, "no such key"), (404, "no such model")])
def test_a_refusing_task_model_ends_the_run_at_once_with_its_words(
    tmp_path: Path, model_server: ModelServer, code: int, words: str
) -> None:
    model_server.fail_always(status(code, words))
    result = drive(write_chat(tmp_path, model_server))
    assert (result.status, result.finish_reason, result.metric_calls) == ("failed", "provider", 0)
    assert words in result.message
    assert len(model_server.requests) == 1


@pytest.mark.parametrize(("code", "words"), [(401, "no such key"), (404, "no such model")])
def test_a_refusing_reflection_model_ends_the_run_and_what_was_paid_stays(
    tmp_path: Path, model_server: ModelServer, writer: ModelServer, code: int, words: str
) -> None:
    writer.fail_always(status(code, words))
    result = drive(write_chat(tmp_path, model_server, writer=writer))
    assert (result.status, result.finish_reason) == ("failed", "provider")
    assert words in result.message
    assert len(writer.requests) == 1
    assert result.baseline["val"] == 0.0


def test_a_request_that_is_refused_for_what_it_holds_does_not_end_the_run(
    tmp_path: Path, model_server: ModelServer, writer: ModelServer
) -> None:
    writer.fail(status(400, "the prompt is too long"))
    model_server.reply = writer.reply = answer(lambda number: fenced(GOOD))
    result = drive(write_chat(tmp_path, model_server, 'name = "best_of_n"\nn = 2', writer=writer))
    assert (result.status, result.best["test"]) == ("finished", 1.0)


def test_dollars_end_the_search_and_the_verdict_is_paid_out_of_its_hold(
    tmp_path: Path, model_server: ModelServer
) -> None:
    model_server.reply = answer(lambda number: fenced(f"{GOOD} {number}"))
    engine = 'name = "best_of_n"'
    refused = drive(write_chat(tmp_path, model_server, engine, budget="usd = 0.0001"))
    assert (refused.status, refused.finish_reason, refused.cost_usd) == ("failed", "budget_too_small", 0.0)
    assert model_server.requests == []
    smallest = float(refused.message.split("would do is usd = ")[1].split()[0])
    budget = f"usd = {smallest + 0.01:.5f}"
    result = drive(write_chat(tmp_path, model_server, engine, budget=budget))
    assert (result.status, result.finish_reason, result.changed) == ("stopped", "budget_usd", True)
    assert result.best["test"] == 1.0
    assert result.cost_usd is not None
    assert result.cost_usd <= smallest + 0.01
    assert result.data["budget"]["usd"]["used"] == pytest.approx(result.cost_usd)


def test_where_the_dollars_do_not_last_the_verdict_takes_the_first_cases(
    tmp_path: Path, model_server: ModelServer
) -> None:
    """The best version is so long that its share of the sealed pass costs more than was held for it."""
    long = GOOD + " Be brief." * 400
    model_server.reply = answer(lambda number: fenced(long))
    rows = [{"text": f"text {number}", "label": f"label {number}"} for number in range(40)]
    spec = "split = { train = 2, val = 2, test = 36 }\n"
    folder = write_chat(tmp_path, model_server, 'name = "best_of_n"\nn = 1', rows=rows, budget="usd = 0.0001")
    toml = folder / "skynet.toml"
    text = toml.read_text(encoding="utf-8").replace("[metric]", spec + "[metric]")
    toml.write_text(text, encoding="utf-8")
    refused = drive(folder)
    smallest = float(refused.message.split("would do is usd = ")[1].split()[0])
    toml.write_text(text.replace("usd = 0.0001", f"usd = {smallest + 0.015:.5f}"), encoding="utf-8")
    result = drive(folder)
    assert (result.status, result.finish_reason, result.changed) == ("finished", "engine_done", True)
    (warning,) = [warning for warning in result.data["warnings"] if "in seeded order" in warning]
    assert 0 < result.data["difference"]["cases"] < 36
    assert f"paid for {result.data['difference']['cases']} of 36 test cases" in warning
    assert result.cost_usd is not None
    assert result.cost_usd <= smallest + 0.015


def test_what_waits_when_the_time_is_over_does_not_stand_before_the_verdict(
    tmp_path: Path, scripted: type[Scripted]
) -> None:
    budget = "metric_calls = 300\nseconds = 4"
    folder = write_plans(tmp_path, plan("start"), plan("slow"), data=rows(val=60), budget=budget)
    code = RUN.replace("    value =", "    time.sleep(0.5 if plan['name'] == 'slow' else 0)\n    value =", 1)
    (folder / "run.py").write_text(code, encoding="utf-8")
    result = drive(folder)
    assert (result.status, result.finish_reason) == ("stopped", "budget_seconds")
    assert result.baseline["test"] == 0.5
    slow = [text for name, text in ran(folder) if name == "slow"]
    assert 0 < len(slow) < 60
