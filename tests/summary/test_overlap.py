from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skynet.summary.overlap import SharedRun, shared_runs, values_given_away

ROW = "the parcel arrived two weeks late and nobody answered my letters"


def test_eight_shared_words_in_a_row_are_found_with_the_whole_run() -> None:
    artifact = "Sort the message. If the parcel arrived two weeks late and nobody wrote, say shipping."
    assert shared_runs(artifact, [("7", {"message": ROW})]) == [
        SharedRun("7", "message", 8, "the parcel arrived two weeks late and nobody")
    ]


def test_seven_shared_words_are_not_found() -> None:
    assert shared_runs("the parcel arrived two weeks late and", [("7", {"message": ROW})]) == []


@pytest.mark.parametrize(
    "artifact",
    [
        ROW.upper(),
        ROW.replace(" ", "\n  "),
        ROW.replace(" ", ", "),
        "".join(chr(ord(letter) + 0xFEE0) if letter != " " else " " for letter in ROW),  # full-width letters
    ],
)
def test_case_spacing_punctuation_and_width_do_not_hide_a_row(artifact: str) -> None:
    assert [run.words for run in shared_runs(artifact, [("1", {"message": ROW})])] == [len(ROW.split())]


def test_eight_words_scattered_over_the_artifact_are_not_a_run() -> None:
    assert shared_runs(" and ".join(reversed(ROW.split())), [("1", {"message": ROW})]) == []


def test_the_longest_of_two_runs_is_told() -> None:
    words = [f"w{number}" for number in range(30)]
    artifact = " ".join(words[20:28]) + " x " + " ".join(words[5:15])
    [run] = shared_runs(artifact, [("1", {"text": " ".join(words)})])
    assert run.text == " ".join(words[5:15])


def test_text_without_spaces_counts_by_characters() -> None:
    [run] = shared_runs("例：我的银行卡还没有寄到。", [("1", {"text": "你好，我的银行卡还没有寄到"})])
    assert (run.words, run.text) == (10, "我 的 银 行 卡 还 没 有 寄 到")


def test_texts_inside_lists_and_tables_count() -> None:
    rows = [("1", {"turns": [{"role": "user", "content": ROW}], "flag": True, "nothing": None})]
    assert [run.column for run in shared_runs(ROW, rows)] == ["turns"]


@given(st.lists(st.sampled_from("abcde"), max_size=40), st.lists(st.sampled_from("abcde"), max_size=40))
def test_it_finds_a_row_exactly_when_eight_words_stand_together(artifact: list[str], row: list[str]) -> None:
    text = f" {' '.join(artifact)} "
    windows = [f" {' '.join(row[at : at + 8])} " for at in range(len(row) - 7)]
    found = shared_runs(text, [("1", {"text": " ".join(row)})])
    assert bool(found) is any(window in text for window in windows)


def expecting(value: object, *, times: int, rows: int) -> list[tuple[str, dict[str, object] | None]]:
    return [(str(number), {"answer": value if number < times else "no"}) for number in range(rows)]


@pytest.mark.parametrize(
    ("value", "times", "rows", "found"),
    [
        ("reset the valve", 1, 51, True),
        ("reset the valve", 1, 50, False),  # 2 % is not under 2 %
        ("reset the valve", 2, 101, True),
        ("reset the valve", 2, 100, False),
        ("twelve chars", 1, 100, True),
        ("eleven char", 1, 100, False),
        (123456789012, 1, 100, True),
        (["reset the valve", "call"], 1, 100, True),
        ("no such value here", 1, 100, False),
    ],
)
def test_only_a_rare_and_long_value_that_stands_there_is_found(
    value: object, times: int, rows: int, found: bool
) -> None:
    artifact = "First Reset\nthe valve. Twelve chars or eleven char? Ticket 123456789012."
    assert bool(values_given_away(artifact, expecting(value, times=times, rows=rows))) is found


def test_a_value_is_told_as_written_with_its_cases() -> None:
    rows = expecting("Reset the Valve", times=2, rows=200)
    [given_away] = values_given_away("reset the valve", rows)
    assert (given_away.column, given_away.value, given_away.cases) == ("answer", "Reset the Valve", ("0", "1"))


def test_a_value_inside_a_longer_word_is_not_that_value() -> None:
    rows = expecting("international", times=1, rows=100)
    assert values_given_away("internationally known", rows) == []
    assert len(values_given_away("known (international)", rows)) == 1


def test_a_value_of_a_script_without_spaces_is_found_inside_a_sentence() -> None:
    value = "请先重置阀门然后再打电话给我们"
    assert len(values_given_away(f"答案是{value}吧", expecting(value, times=1, rows=100))) == 1


def test_rows_that_expect_nothing_do_not_make_a_value_rare() -> None:
    rows = [*expecting("reset the valve", times=1, rows=20), *((f"x{number}", None) for number in range(200))]
    assert values_given_away("reset the valve", rows) == []
