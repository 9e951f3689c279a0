from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.chat import Turn, find_layout, input_text, join_turns, opens_turn, place, placed_columns, split_turns


@pytest.mark.parametrize(
    ("text", "turns"),
    [
        ("Be brief.", [Turn("system", "Be brief.")]),
        ("", []),
        ("Lead\nuser:\nHi", [Turn("system", "Lead"), Turn("user", "Hi")]),
        ("system:\nA\n\nB\nassistant:\nC\n", [Turn("system", "A\n\nB"), Turn("assistant", "C")]),
        ("  user:  \nHi", [Turn("user", "Hi")]),
        ("user: Hi", [Turn("system", "user: Hi")]),
        ("Users:\nHi", [Turn("system", "Users:\nHi")]),
        ("system:\nuser:\nHi", [Turn("user", "Hi")]),
    ],
)
def test_a_line_that_is_just_a_role_opens_a_turn(text: str, turns: list[Turn]) -> None:
    assert split_turns(text) == turns


bodies = st.text(min_size=1).filter(lambda text: text.strip() and text == text.strip("\n") and not opens_turn(text))


@given(st.lists(st.builds(Turn, st.sampled_from(["system", "user", "assistant"]), bodies)))
def test_turns_survive_being_written_and_read(turns: list[Turn]) -> None:
    assert split_turns(join_turns(turns)) == turns


@pytest.mark.parametrize("text", ["a\nuser:\nb", " User: ", "x\rassistant:\ry", "x\u2028system:"])
def test_data_that_might_open_a_turn_is_recognized(text: str) -> None:
    assert opens_turn(text)


@pytest.mark.parametrize("text", ["user: hi", "the user:", "", "users:"])
def test_other_data_opens_no_turn(text: str) -> None:
    assert not opens_turn(text)


@pytest.mark.parametrize(
    ("text", "placed"),
    [
        ("{{ a }} and {{a}}", "1 and 1"),
        ("{{ a.b }}", "dot"),
        ("{{ other }} { a } {{{a}}}", "{{ other }} { a } {1}"),
        ("{{ loop }}", "{{ a }}"),
        ("{{ none }}", "null"),
    ],
)
def test_placeholders_of_columns_are_replaced_in_one_pass_and_nothing_else_is(text: str, placed: str) -> None:
    assert place(text, {"a": 1, "a.b": "dot", "loop": "{{ a }}", "none": None}) == placed


def test_the_columns_that_a_text_places_are_found() -> None:
    assert placed_columns("{{b}} {{ c }}", ["a", "b"]) == ["b"]


@pytest.mark.parametrize(
    ("values", "text"),
    [({"a": "hi"}, "hi"), ({"a": ["ü"]}, '["ü"]'), ({"a": "x", "b": 2}, "a: x\nb: 2"), ({}, "")],
)
def test_an_input_becomes_one_text(values: dict[str, object], text: str) -> None:
    assert input_text(values) == text


def test_the_layout_of_a_text_without_placeholders_has_no_block() -> None:
    layout = find_layout("Be brief.", ["m"])
    assert layout.head == (Turn("system", "Be brief."),)
    assert layout.block == ()


def test_the_block_begins_where_the_input_is_placed() -> None:
    layout = find_layout("Rules\nuser:\nQ: {{ m }}\nassistant:\nHm.\nuser:\nNow answer.", ["m"])
    assert layout.head == (Turn("system", "Rules"),)
    assert [turn.role for turn in layout.block] == ["user", "assistant", "user"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [("Sort {{ m }}.", "stands in the system turn"), ("user:\n{{ m }}\nassistant:\nIt is", "turn of the assistant")],
)
def test_a_text_without_room_for_demonstrations_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        find_layout(text, ["m"])
