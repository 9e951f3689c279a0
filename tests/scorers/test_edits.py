from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skynet import scorers
from skynet.metric.contract import Unmeasured
from skynet.scorers.edits import common_length, edit_distance

short = st.text("abcé", max_size=12)


def plain_distance(one: str, other: str) -> int:
    row = list(range(len(other) + 1))
    for index, char in enumerate(one, start=1):
        previous, row[0] = row[0], index
        for column, wanted in enumerate(other, start=1):
            previous, row[column] = row[column], min(row[column] + 1, row[column - 1] + 1, previous + (char != wanted))
    return row[-1]


def plain_common(one: str, other: str) -> int:
    row = [0] * (len(other) + 1)
    for char in one:
        diagonal = 0
        for column, wanted in enumerate(other, start=1):
            kept = row[column]
            row[column] = diagonal + 1 if char == wanted else max(row[column], row[column - 1])
            diagonal = kept
    return row[-1]


@given(short, short)
def test_the_distance_is_that_of_the_plain_table(one: str, other: str) -> None:
    assert edit_distance(one, other) == plain_distance(one, other)


@given(short, short)
def test_the_common_length_is_that_of_the_plain_table(one: str, other: str) -> None:
    assert common_length(one, other) == plain_common(one, other)


def test_the_score_is_one_minus_the_edits_per_character() -> None:
    result = scorers.levenshtein("kitten", "sitting")
    assert not isinstance(result, Unmeasured)
    assert result[0] == pytest.approx(1 - 3 / 7)
    assert result[1]["scores"] == {"distance": 3.0}
    assert result[1]["feedback"].startswith("3 edits away. Expected 'sitting', got 'kitten'.")


def test_case_counts_unless_it_is_ignored() -> None:
    assert scorers.levenshtein("A", "a")[0] == 0  # type: ignore[index]
    assert scorers.levenshtein("A", "a", ignore_case=True)[0] == 1  # type: ignore[index]
