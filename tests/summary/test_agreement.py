from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skynet.summary.agreement import agreement_of, cohen_kappa, confusion_of, kappa_interval

# 50 rows, the example of Cohen's kappa that is in every textbook: 20 yes/yes, 5 yes/no, 10 no/yes, 15 no/no.
TEXTBOOK = [("yes", "yes")] * 20 + [("yes", "no")] * 5 + [("no", "yes")] * 10 + [("no", "no")] * 15
PAIRS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), max_size=30)


def test_kappa_of_the_textbook() -> None:
    assert cohen_kappa(TEXTBOOK) == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("pairs", "kappa"),
    [
        ([("a", "a"), ("b", "b")], 1.0),
        ([("a", "b"), ("b", "a")], -1.0),
        ([("a", "a"), ("a", "b")], 0.0),
        ([("a", "b")], 0.0),
        ([("a", "a")] * 3, None),
        ([], None),
    ],
)
def test_kappa_at_its_ends_and_where_it_does_not_exist(pairs: list[tuple[str, str]], kappa: float | None) -> None:
    assert cohen_kappa(pairs) == kappa


@given(PAIRS)
def test_kappa_is_symmetric_and_never_above_the_agreement(pairs: list[tuple[str, str]]) -> None:
    kappa, swapped = cohen_kappa(pairs), cohen_kappa([(second, first) for first, second in pairs])
    assert kappa == swapped
    if kappa is not None:
        assert -1 <= kappa <= sum(first == second for first, second in pairs) / len(pairs)


def test_the_confusion_has_every_label_on_both_sides_and_counts_each_row_once() -> None:
    assert confusion_of([("a", "b"), ("a", "b"), ("a", "a")]) == {"a": {"a": 1, "b": 2}, "b": {"a": 0, "b": 0}}
    assert confusion_of(TEXTBOOK)["yes"] == {"no": 5, "yes": 20}


def test_the_figures_of_a_whole_agreement() -> None:
    found = agreement_of(TEXTBOOK)
    assert (found.rows, found.agreed, found.rate) == (50, 35, 0.7)
    assert found.low is not None
    assert found.high is not None
    assert -0.1 < found.low < 0.4 < found.high < 0.8


def test_without_rows_there_are_no_figures() -> None:
    found = agreement_of([])
    assert (found.rate, found.kappa, found.low, found.high, found.confusion) == (None, None, None, None, {})


def test_the_interval_is_the_same_for_the_same_seed() -> None:
    assert kappa_interval(TEXTBOOK, seed=3) == kappa_interval(TEXTBOOK, seed=3)
    assert kappa_interval(TEXTBOOK, seed=3) != kappa_interval(TEXTBOOK, seed=4)


def test_twelve_rows_that_all_agree_prove_no_perfect_judge() -> None:
    low, high = kappa_interval([("a", "a"), ("b", "b")] * 6)
    assert low < 0.8
    assert high > low


def test_the_interval_covers_the_truth_with_few_rows_and_a_good_judge() -> None:
    """The plain percentile bootstrap covers it in 62 of 100 such tests."""
    source = random.Random(1)
    covered = 0
    for _ in range(60):
        human = [source.random() < 0.5 for _ in range(20)]
        pairs = [(str(one), str(one != (source.random() < 0.05))) for one in human]
        low, high = kappa_interval(pairs)
        covered += low <= 0.9 <= high  # the true kappa: 95 % agreement, half of it by chance
    assert covered >= 50
