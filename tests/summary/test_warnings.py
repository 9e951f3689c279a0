from __future__ import annotations

import pytest

from skynet.summary.comparison import Comparison, compare
from skynet.summary.overlap import GivenAway, SharedRun
from skynet.summary.warnings import ValFigures, overlap_warnings, verdict_warnings
from skynet.summary.written import signed


def comparing(wins: int, losses: int, right: int, wrong: int = 0, *, span: float = 1.0) -> Comparison:
    start = [0.0] * wins + [1.0] * losses + [1.0] * right + [0.0] * wrong
    best = [1.0] * wins + [0.0] * losses + [1.0] * right + [0.0] * wrong
    keys = [str(number) for number in range(len(start))]
    return compare(dict(zip(keys, start, strict=True)), dict(zip(keys, best, strict=True)), span=span)


def openings(sentences: list[str]) -> list[str]:
    return [sentence.split(":")[0] for sentence in sentences]


def test_a_clear_gain_on_an_unseen_test_has_no_warning() -> None:
    assert verdict_warnings(comparing(12, 0, 12), val=ValFigures(0.5, 0.95, 24)) == []


def test_an_interval_with_zero_and_few_cases_says_what_these_cases_could_show() -> None:
    shown, few = verdict_warnings(comparing(2, 1, 17))
    assert shown.startswith("No difference is shown: the 95 % interval of the difference on test, −0.")
    assert few == "Too few cases to tell: 20 test cases could only show a difference of about 0.3 or more."


def test_an_interval_is_written_as_in_the_headline() -> None:
    found = comparing(2, 1, 17)
    assert f"{signed(found.low)} to {signed(found.high)}, includes 0" in verdict_warnings(found)[0]


def test_many_cases_without_a_difference_are_not_called_too_few() -> None:
    assert openings(verdict_warnings(comparing(1, 1, 300))) == ["No difference is shown"]


def test_too_few_is_judged_on_the_scale_of_the_score() -> None:
    assert openings(verdict_warnings(comparing(2, 1, 17, span=100.0))) == ["No difference is shown"]


def test_under_six_cases_nothing_can_be_shown_even_if_all_are_won() -> None:
    sentences = verdict_warnings(comparing(5, 0, 0))
    assert sentences == ["Too few cases to tell: with 5 test cases no difference can be shown; at least 6 are needed."]


def test_no_common_case_is_said() -> None:
    assert verdict_warnings(compare({}, {}), val=ValFigures(0.1, 0.9, 9)) == [
        "Nothing can be said: no test case was measured for both start and best."
    ]


@pytest.mark.parametrize(
    ("val", "warned"),
    [
        (None, False),
        (ValFigures(0.5, 0.95, 24), True),  # a gain of 0.45 where test shows about 0.08
        (ValFigures(0.5, 0.60, 24), False),
        (ValFigures(0.9, 0.95, 24), True),  # no more gain than on test, but far easier cases
        (ValFigures(None, 0.95, 24), True),
        (ValFigures(None, 0.60, 24), False),
        (ValFigures(0.5, None, 0), False),
    ],
)
def test_val_far_above_test(val: ValFigures | None, warned: bool) -> None:
    sentences = verdict_warnings(comparing(2, 0, 11, 11), val=val)
    assert ("Val is far above test" in openings(sentences)) is warned


@pytest.mark.parametrize(("times", "warned"), [(1, False), (2, True), (7, True)])
def test_a_test_split_that_was_seen_before_is_counted(times: int, warned: bool) -> None:
    sentences = verdict_warnings(comparing(12, 0, 12), times_seen=times)
    assert any(sentence.startswith(f"Test seen {times} times") for sentence in sentences) is warned


def test_nothing_shared_has_no_warning() -> None:
    assert overlap_warnings([], []) == []


def test_rows_and_values_in_the_artifact_are_named_and_the_rest_counted() -> None:
    runs = [SharedRun(str(number), "message", 8 + number, "...") for number in range(5)]
    rows, values = overlap_warnings(runs, [GivenAway("answer", "reset the valve", ("1",))])
    assert rows == (
        "Train rows stand in the artifact: 5 rows (0, 1, 2 and 2 more) share 8 or more words in a row with it, "
        "at most 12 (row 4, column message)."
    )
    assert values == "Expected values stand in the artifact: 1 rare, long value ('reset the valve')."
