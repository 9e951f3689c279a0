from __future__ import annotations

from collections import Counter

import pytest

from skynet.data.case import Case
from skynet.evaluation.record import Record
from skynet.runs.verdict import SealedPass, judge, sealed_order
from tests.evaluation.records import failed, scored, unmeasured

CASES = [Case(str(number), {"text": str(number)}, None, "rows.jsonl", number) for number in range(20)]


def sealed(*records: Record, failure: float = 0.0, version: str = "v") -> SealedPass:
    return SealedPass(version, records, failure)


def ids(cases: list[Case]) -> list[str]:
    return [case.id for case in cases]


def test_the_order_in_which_cases_are_paid_is_seeded_and_not_that_of_the_rows() -> None:
    everything = ids(sealed_order(CASES, 5))
    assert sorted(everything) == sorted(ids(CASES))
    assert everything != ids(CASES)
    assert ids(sealed_order(CASES[::-1], 5)) == everything
    assert ids(sealed_order(CASES, 6)) != everything


def test_the_first_cases_are_not_the_ones_at_the_top_of_the_file() -> None:
    chosen = Counter(case for seed in range(200) for case in ids(sealed_order(CASES, seed)[:10]))
    assert min(chosen[case.id] for case in CASES) > 60  # 100 of 200 are to be expected


def test_a_target_failure_counts_as_the_failure_score() -> None:
    found = sealed(scored(1.0, "a"), failed("target", "b"), failure=-1.0)
    assert found.values == {"a": 1.0, "b": -1.0}
    assert found.mean == 0.0


@pytest.mark.parametrize("record", [unmeasured("b"), failed("provider", "b"), failed("metric", "b")])
def test_what_was_not_measured_is_left_out_and_lowers_coverage(record: Record) -> None:
    found = sealed(scored(1.0, "a"), record)
    assert found.values == {"a": 1.0, "b": None}
    assert found.mean == 1.0
    assert found.coverage().measured == 1


def test_a_case_stands_at_the_mean_of_its_repetitions() -> None:
    found = sealed(scored(0.0, "a"), scored(1.0, "a", repetition=1), scored(1.0, "b"))
    assert found.values == {"a": 0.5, "b": 1.0}
    assert found.mean == 0.75


def test_nothing_measured_has_no_mean() -> None:
    assert sealed(unmeasured("a")).mean is None


def verdict(start: list[float], best: list[float]) -> object:
    one = sealed(*(scored(value, str(n)) for n, value in enumerate(start)), version="start")
    two = sealed(*(scored(value, str(n)) for n, value in enumerate(best)), version="best")
    return judge(one, two, span=1.0, seed=0, cases=len(start))


@pytest.mark.parametrize(
    ("best", "changed", "rejected"),
    [([1.0, 1.0], True, None), ([0.0, 0.4], False, "best"), ([0.5, 0.5], True, None)],
    ids=["better", "worse", "as good"],
)
def test_only_a_best_below_the_start_on_test_is_rejected(
    best: list[float], changed: bool, rejected: str | None
) -> None:
    found = verdict([0.5, 0.5], best)
    assert (found.changed, found.rejected) == (changed, rejected)  # type: ignore[attr-defined]


def test_without_a_challenger_nothing_changed_and_nothing_is_compared() -> None:
    found = judge(sealed(scored(1.0)), None, span=1.0, seed=0, cases=1)
    assert (found.changed, found.rejected, found.comparison) == (False, None, None)


def test_no_case_that_both_measured_rejects_nothing() -> None:
    found = judge(sealed(scored(1.0, "a"), unmeasured("b")), sealed(unmeasured("a"), scored(0.0, "b")),
                  span=1.0, seed=0, cases=2)  # fmt: skip
    assert found.comparison is not None
    assert (found.comparison.cases, found.comparison.mean, found.rejected) == (0, None, None)
