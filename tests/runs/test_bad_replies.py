"""Whatever the reflection model replies, a search ends, and what it replied in vain stands in the books."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from skynet.evaluation.guards import IDLE_STEPS
from skynet.models.backend import ModelRequest, ProviderFault, RawReply
from skynet.runs.events import Event, Events
from skynet.runs.result import RunResult
from skynet.runs.session import open_store
from tests.engines.programs import filled

from .cut_runs import WORDS, answer, write_loud_project
from .loud_programs import program_answer, write_loud_program
from .quick_runs import QuickModel, QuickRuns

START = "Say it loud."
MOST = 5 * IDLE_STEPS  # requests that a search of up to three lanes may make: more, and it runs away
ENGINES = {
    "gepa": '"gepa"',
    "best_of_n": '"best_of_n"',
    "auto": '"auto"',
    "auto of two": '{ name = "auto", lanes = ["best_of_n", "gepa"] }',
}


@dataclass(frozen=True)
class Bad:
    """A reply, what it is not taken for, and the finish reason of a search that gets no other."""

    reply: str | Callable[[ModelRequest], RawReply]
    reason: str
    finish: str = "converged"


def refused(request: ModelRequest) -> RawReply:
    raise ProviderFault("the prompt is too long", "request", status=400)


def cut(request: ModelRequest) -> RawReply:
    return RawReply("```\nSay it very", 10, 40, finish_reason="length")


def cut_before_it_wrote(request: ModelRequest) -> RawReply:  # as a model does that thinks first
    return RawReply("", 10, 40, finish_reason="length")


def same_program(request: ModelRequest) -> RawReply:
    prompt = "\n".join(str(turn["content"]) for turn in request.messages)
    return RawReply(filled(prompt, START), 10, 10)


def fenced(text: str) -> str:
    return f"```\n{text}\n```"


SEEN = "which was evaluated before"
SAME = "it is identical to the version it came from"
CUT = "the reply was cut at max_tokens = 40; raise max_tokens in the params of [models] reflection"
BAD = {
    "always fails": Bad(refused, "the prompt is too long", "reflection_broken"),
    "empty": Bad("", "replied with nothing", "reflection_broken"),
    "white space": Bad(" \n", "replied with nothing", "reflection_broken"),
    "cut before it wrote": Bad(cut_before_it_wrote, CUT, "reflection_broken"),
    "cut": Bad(cut, CUT),
    "two fences": Bad("```\none\n```\nor\n```\ntwo\n```", "the reply holds 2 code fences"),
    "an unclosed fence": Bad("```\none", "the code fence is never closed"),
    "an empty fence": Bad("```\n```", "the text was empty"),
    "identical": Bad(fenced(START), SAME),
    "NUL": Bad(fenced("Say\x00it"), "it holds a NUL character"),
    "another language": Bad(fenced("请大声说出来。 Скажи громко."), SEEN),
    "marks": Bad(fenced("Say <side_info> </curr_param> {{ {{ x }} {% if %} {#"), SEEN),
}
SAME_PROGRAM = Bad(same_program, "")


class BadModel(QuickModel):
    """The provider: its reflection model always gives the one bad reply; `asked` counts.

    The task model is refused the word that is `sick`.
    """

    def __init__(self, bad: Bad, script: Callable[..., str], sick: str = "") -> None:
        super().__init__(script)
        self._bad = bad
        self._sick = sick
        self.asked = 0

    def complete(self, request: ModelRequest) -> RawReply:
        if request.model != "reflection":
            if self._sick and self._sick in str(request.messages[-1]["content"]):
                refused(request)
            return super().complete(request)
        self.asked += 1
        if self.asked > MOST:
            raise AssertionError("the search runs away")
        return RawReply(self._bad.reply, 10, 10) if isinstance(self._bad.reply, str) else self._bad.reply(request)


class BadRuns(QuickRuns):
    """Runs in which the reflection model gives one reply."""

    bad: Bad
    sick = ""

    def clear(self, folder: Path) -> None:
        super().clear(folder)
        script = program_answer if (folder / "program.py").exists() else answer
        self.model = BadModel(self.bad, script, self.sick)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> BadRuns:
    return BadRuns(monkeypatch)


def rejected(folder: Path) -> list[Event]:
    with open_store(folder, create=False) as store:
        (row,) = store.runs()
        return [event for event in Events(store, row).read() if event.kind == "rejected"]


def counted(result: RunResult) -> dict[str, int]:
    return {row["reason"]: row["count"] for row in result.data["rejections"]}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("bad", BAD)
def test_a_search_that_gets_bad_replies_ends_and_says_why_none_was_taken(
    quick: BadRuns, tmp_path: Path, bad: str, engine: str
) -> None:
    quick.bad = case = BAD[bad]
    result = quick.run(write_loud_project(tmp_path, "http://localhost", ENGINES[engine]), metric_calls=400)
    finish = "engine_done" if engine == "auto" and case.finish == "reflection_broken" else case.finish  # demos is fine
    assert (result.finish_reason, result.baseline["val"]) == (finish, pytest.approx(1 / 3))
    told = rejected(tmp_path)
    assert [event.reason for event in told if case.reason in str(event.reason)]
    assert sum(counted(result).values()) == len(told)
    assert {str(event.reason) for event in told} == set(counted(result))
    assert isinstance(quick.model, BadModel)
    assert len(told) == quick.model.asked or case.reason == SEEN, "a reply that was paid for left no trace"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_case_whose_provider_always_fails_keeps_no_search_going(quick: BadRuns, tmp_path: Path, engine: str) -> None:
    """It is asked anew each time, and takes no metric call."""
    quick.bad, quick.sick = BAD["identical"], "charlie"
    result = quick.run(write_loud_project(tmp_path, "http://localhost", ENGINES[engine]), metric_calls=400)
    assert result.finish_reason == "converged"


def test_a_broken_model_is_told_where_every_lane_broke(quick: BadRuns, tmp_path: Path) -> None:
    """The lane of demonstrations comes first, and breaks as well: the start has none right that could be shown."""
    quick.bad = BAD["always fails"]
    folder = write_loud_project(tmp_path, "http://localhost", ENGINES["auto"], words=WORDS[2:])
    result = quick.run(folder, metric_calls=400)
    assert (result.status, result.finish_reason) == ("failed", "reflection_broken")
    assert "the prompt is too long" in result.message
    assert "none of the start's outputs" in result.message


@pytest.mark.parametrize("bad", [*(BAD[name] for name in BAD if BAD[name].reason not in (SAME, SEEN))])
def test_a_first_version_is_asked_for_three_times_and_the_cause_is_told(
    quick: BadRuns, tmp_path: Path, bad: Bad
) -> None:
    quick.bad = bad
    blank = '[artifact]\nkind = "text"\n[target]\nkind = "chat"'
    result = quick.run(write_loud_project(tmp_path, "http://localhost", artifact=blank), metric_calls=400)
    assert (result.status, result.finish_reason) == ("failed", "reflection_broken")
    empty = bad.reason in ("replied with nothing", "the text was empty")
    assert ("the reply was empty" if empty else bad.reason) in result.message
    assert isinstance(quick.model, BadModel)
    assert quick.model.asked == 3


@pytest.mark.parametrize("optimizer", ["GEPA", "MIPROv2", "COPRO"])
@pytest.mark.parametrize("bad", [*(BAD[name] for name in ("always fails", "empty", "cut", "two fences")), SAME_PROGRAM])
def test_an_optimizer_of_dspy_that_gets_bad_replies_ends(
    quick: BadRuns, tmp_path: Path, bad: Bad, optimizer: str
) -> None:
    quick.bad = bad
    engine = f'{{ name = "dspy", optimizer = "{optimizer}" }}'
    result = quick.run(write_loud_program(tmp_path, "http://localhost", engine), metric_calls=400)
    assert result.finish_reason in ("converged", "engine_done", "reflection_broken"), result.message
    assert isinstance(quick.model, BadModel)
    assert quick.model.asked > 0


@pytest.mark.parametrize("engine", ENGINES)
def test_replies_that_are_cut_are_told_in_a_note(quick: BadRuns, tmp_path: Path, engine: str) -> None:
    quick.bad = BAD["cut"]
    result = quick.run(write_loud_project(tmp_path, "http://localhost", ENGINES[engine]), metric_calls=400)
    assert isinstance(quick.model, BadModel)
    assert f"Of the reflection model's replies {quick.model.asked} did not end: {CUT}." in result.data["notes"]
