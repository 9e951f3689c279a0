from __future__ import annotations

import pytest

from skynet.artifact import Artifact
from skynet.evaluation.content_check import content_check

CHAT = Artifact("text", "Sort {{ text }} and {{other}}. {{ unknown }}")


@pytest.mark.parametrize("text", ["{{ other }} {{text}}", "Use {{ text }}, {{ other }} and {{ more }}."])
def test_a_proposal_that_keeps_the_placeholders_is_taken(text: str) -> None:
    assert content_check(CHAT, ["text", "other"], template=True)(text) is None


def test_a_proposal_that_lost_a_placeholder_is_broken_and_the_reason_names_it() -> None:
    reason = content_check(CHAT, ["text", "other"], template=True)("Sort {{ text }}.")
    assert reason is not None
    assert "{{ other }}" in reason
    assert "{{ text }}" not in reason


def test_braces_that_place_no_input_need_not_survive() -> None:
    assert content_check(CHAT, ["text", "other"], template=True)("{{ text }} {{ other }}") is None


def test_outside_a_chat_the_text_places_nothing() -> None:
    assert content_check(CHAT, ["text", "other"], template=False)("anything") is None


@pytest.mark.parametrize("text", ["Sort {% if %} {{ nothing", "<side_info>", "Wähle. 选择。", "bad \ud800 surrogate"])
def test_other_languages_and_strange_marks_are_the_users_business(text: str) -> None:
    assert content_check(Artifact("text", "Sort."), ["text"], template=True)(text) is None


def test_a_nul_character_is_refused() -> None:
    assert content_check(Artifact("text", "Sort."), [], template=True)("So\x00rt.") == "it holds a NUL character"


def test_a_content_of_another_type_is_refused() -> None:
    reason = content_check(Artifact("text", "Sort."), [], template=True)({"part": "Sort."})
    assert reason == "it is of type dict, not str as the start is"


@pytest.mark.parametrize("code", ["def run(:\n", "return 1", "x = (1\n", "from __future__ import nonsense"])
def test_code_must_parse(code: str) -> None:
    reason = content_check(Artifact("code", "def run(input): return 1"), [], template=False)(code)
    assert reason is not None
    assert "not valid Python" in reason


def test_the_reason_names_the_line_of_broken_code() -> None:
    reason = content_check(Artifact("code", "x = 1"), [], template=False)("x = 1\ny = (\n")
    assert reason is not None
    assert "line 2" in reason


def test_code_that_parses_is_taken_without_being_run() -> None:
    assert content_check(Artifact("code", "x = 1"), [], template=False)("raise SystemExit") is None


@pytest.mark.parametrize("code", ["def solve(input): return 1", "x = 1", "def make():\n    def run(input): return 1"])
def test_code_without_the_entry_is_broken(code: str) -> None:
    reason = content_check(Artifact("code", "def run(input): return 1"), [], template=False, entry="run")(code)
    assert reason == "it defines no function 'run'; the file must define run(input)"


@pytest.mark.parametrize(
    "code",
    ["def run(input): pass", "async def run(input): pass", "from m import run", "from m import *", "if 1: run = f"],
)
def test_code_that_may_define_the_entry_is_taken(code: str) -> None:
    assert content_check(Artifact("code", "def run(input): return 1"), [], template=False, entry="run")(code) is None


@pytest.mark.parametrize("code", ["x = " + "(" * 500, "-" * 100_000 + "1"], ids=["parentheses", "signs"])
def test_nesting_without_end_is_broken_and_breaks_nothing_here(code: str) -> None:
    reason = content_check(Artifact("code", "x = 1"), [], template=False)(code)
    assert reason is not None
    assert reason.startswith("it is not valid Python")


def test_an_odd_escape_in_code_is_no_warning_on_the_screen(recwarn: pytest.WarningsRecorder) -> None:
    assert content_check(Artifact("code", "x = 1"), [], template=False)("x = '\\d'") is None
    assert not recwarn.list


PARTS = Artifact("parts", {"system": "Sort.", "user": "{{ text }}"})


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ({"system": "Sort well.", "user": "Now: {{text}}"}, None),
        ({"system": "{{ text }}", "user": "Now."}, "the part 'user' lost the placeholder {{ text }}; keep each one"),
        ({"system": "S"}, "its parts are system; they must be system, user, as the start's are"),
        ({"system": "S", "user": "{{ text }}", "more": "x"}, "its parts are system, user, more; they must be"),
        ({"system": 5, "user": "{{ text }}"}, "the part 'system' is of type int, not a text"),
        ({"system": "S\x00", "user": "{{ text }}"}, "the part 'system' holds a NUL character"),
    ],
)
def test_each_part_keeps_its_placeholders_and_no_part_is_lost(content: dict[str, object], reason: str | None) -> None:
    found = content_check(PARTS, ["text"], template=True)(content)
    assert found == reason if reason is None else str(found).startswith(reason)
