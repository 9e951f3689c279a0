from __future__ import annotations

from collections.abc import Iterable

import pytest

from skynet.evaluation.record import Record
from skynet.evaluation.standings import Standings

from .records import failed, scored, unmeasured

VAL = ["a", "b", "c", "d"]


def enter(standings: Standings, version: str, records: Iterable[Record]) -> bool:
    own = [
        Record(version, r.case, r.repetition, r.status, failure=r.failure, score=r.score, fault=r.fault)
        for r in records
    ]
    standings.saw(own)
    return standings.add(version, own)


def scores(*values: float) -> list[Record]:
    return [scored(value, case) for case, value in zip(VAL, values, strict=False)]


def best_of(*versions: list[Record], failure_score: float | None = None) -> str | None:
    """Enter version 0, the start, and the others; return the number of the best."""
    standings = Standings(VAL, failure_score)
    standings.fix_failure_score(versions[0])
    for number, records in enumerate(versions):
        enter(standings, str(number), records)
    return standings.best()


def test_the_better_mean_is_best() -> None:
    assert best_of(scores(0, 0, 1, 1), scores(0, 1, 1, 1), scores(1, 0, 0, 0)) == "1"


def test_a_tie_stays_with_the_earlier_version() -> None:
    assert best_of(scores(0, 0, 1, 1), scores(1, 1, 0, 0)) == "0"


def test_a_version_that_was_not_tried_on_all_of_val_cannot_be_best() -> None:
    assert best_of(scores(0, 0, 0, 0), scores(1, 1, 1)) == "0"


def test_a_version_may_be_completed_in_several_batches() -> None:
    standings = Standings(VAL, None)
    enter(standings, "start", scores(0, 0, 0, 0))
    assert not enter(standings, "v", scores(1, 1))
    assert "v" not in standings.complete
    assert enter(standings, "v", [scored(1.0, "c"), scored(1.0, "d")])
    assert list(standings.complete) == ["start", "v"]


def test_versions_are_compared_on_the_cases_that_both_measured() -> None:
    # On its own cases the challenger's mean is higher, on the shared ones it is lower.
    start = [*scores(1, 0.5, 0.5), unmeasured("d")]
    challenger = [unmeasured("a"), scored(0.4, "b"), scored(0.4, "c"), scored(9.0, "d")]
    assert best_of(start, challenger) == "0"


def test_a_version_whose_coverage_fell_by_more_than_five_points_cannot_win() -> None:
    challenger = [unmeasured("a"), *scores(0, 1, 1, 1)[1:]]
    assert best_of(scores(0, 0, 0, 0), challenger) == "0"


@pytest.mark.parametrize("failure", ["metric", "provider"])
def test_a_failure_of_metric_or_provider_is_left_out_of_the_mean_and_lowers_coverage(failure: str) -> None:
    standings = Standings(VAL, None)
    enter(standings, "v", [*scores(1, 1, 1), failed(failure, "d")])
    standing = standings.of("v")
    assert standing is not None
    assert standing.mean() == 1.0
    assert standing.coverage().measured == 3


def test_a_failure_of_the_target_counts_as_the_failure_score_and_as_measured() -> None:
    standings = Standings(VAL, failure_score=-1.0)
    enter(standings, "v", [*scores(1, 1, 1), failed("target", "d")])
    standing = standings.of("v")
    assert standing is not None
    assert standing.mean() == 0.5
    assert standing.coverage().measured == 4


@pytest.mark.parametrize(
    ("start", "given", "expected"),
    [
        ([0.5, 0.7], None, 0.0),
        ([-2.0, 0.7], None, -2.0),
        ([0.5, 0.7], -5.0, -5.0),
        ([0.5, 0.7], 0.25, 0.25),
        ([], None, 0.0),
    ],
)
def test_the_failure_score_is_given_or_the_lowest_of_the_start_but_at_most_0(
    start: list[float], given: float | None, expected: float
) -> None:
    standings = Standings(VAL, given)
    assert standings.fix_failure_score([scored(value) for value in start]) == expected
    assert standings.failure_value() == expected


def test_the_failure_score_is_fixed_once() -> None:
    standings = Standings(VAL, None)
    standings.fix_failure_score([scored(0.5)])
    assert standings.fix_failure_score([scored(-9.0)]) == 0.0


def test_a_failure_never_counts_above_the_lowest_score_of_the_run() -> None:
    standings = Standings(VAL, failure_score=0.5)
    standings.saw([scored(0.2)])
    assert standings.failure_value() == 0.2


def test_an_earlier_failure_counts_at_the_end_as_low_as_the_lowest_later_score() -> None:
    # Version 1 was ahead by its failure score of 0 until version 2 scored -4 somewhere.
    first = [failed("target", "a"), *scores(0, 0.5, 0.5, 0.5)[1:]]
    assert best_of(scores(0, 0.25, 0.25, 0.25), first) == "1"
    assert best_of(scores(0, 0.25, 0.25, 0.25), first, scores(-4, 0, 0, 0)) == "0"


def test_a_start_that_measured_nothing_loses_to_a_version_that_did() -> None:
    nothing = [failed("metric", case) for case in VAL]
    assert best_of(nothing, scores(0, 0, 0, 0)) == "1"
    broken = [failed("target", case) for case in VAL]
    assert best_of(broken, scores(0, 0, 0, 0)) == "1"


def test_a_version_that_measured_nothing_does_not_win_against_a_start_that_did_not_either() -> None:
    nothing = [failed("metric", case) for case in VAL]
    assert best_of(nothing, nothing) == "0"


def test_the_mean_of_a_case_is_over_its_repetitions() -> None:
    standings = Standings(["a", "b"], None)
    enter(standings, "v", [scored(0.0, "a"), scored(1.0, "a", repetition=1), scored(1.0, "b")])
    standing = standings.of("v")
    assert standing is not None
    assert standing.values == {"a": 0.5, "b": 1.0}
    assert standing.mean() == 0.75


def test_a_version_was_tried_on_a_case_when_every_repetition_was() -> None:
    standings = Standings(["a", "b"], None, repeats=2)
    enter(standings, "start", [scored(0.0, case, repetition=number) for case in ("a", "b") for number in range(2)])
    enter(standings, "v", [scored(1.0, "a"), scored(1.0, "b"), scored(1.0, "a", repetition=1)])
    assert (standings.complete, standings.best()) == (("start",), "start")
    assert enter(standings, "v", [scored(0.0, "b", repetition=1)])
    assert (standings.complete, standings.best()) == (("start", "v"), "v")


def test_a_provider_failure_is_replaced_by_what_the_next_attempt_measured() -> None:
    standings = Standings(["a"], None)
    enter(standings, "v", [failed("provider", "a")])
    enter(standings, "v", [scored(0.5, "a")])
    standing = standings.of("v")
    assert standing is not None
    assert standing.mean() == 0.5
    assert standing.coverage().total == 1


def test_an_unknown_version_has_no_standing() -> None:
    assert Standings(VAL, None).of("nobody") is None
    assert Standings(VAL, None).best() is None


@pytest.mark.parametrize(
    ("ranges", "maximum"), [([], None), ([[0, 5]], 5.0), ([[0, 5], [0, 10]], 10.0), (["A1:B2"], None)]
)
def test_the_declared_maximum_is_the_highest_bound_of_the_ranges_in_the_side_info(
    ranges: list[object], maximum: float | None
) -> None:
    standings = Standings(VAL, None)
    standings.saw([scored(0.5)])
    standings.saw(Record("v", "a", 0, "ok", score=0.5, side_info={"range": declared}) for declared in ranges)
    assert standings.declared_maximum == maximum


def test_a_failure_that_comes_to_count_less_may_cost_a_version_the_lead() -> None:
    standings = Standings(VAL, None)
    enter(standings, "start", scores(0, 0, 0, 0))
    standings.fix_failure_score(scores(0, 0, 0, 0))
    assert enter(standings, "frail", [failed("target", "a"), *scores(0, 0.2, 0.2, 0.2)[1:]])
    assert not enter(standings, "sound", scores(0.1, 0.1, 0.1, 0.1))
    assert enter(standings, "half", scores(-10)) is False  # no best of its own, and failures count as -10 from here
    assert standings.best() == "sound"
    frail = standings.of("frail")
    assert frail is not None
    assert frail.mean() == pytest.approx((-10 + 0.6) / 4)


def test_a_version_whose_providers_failure_is_measured_later_may_become_the_best() -> None:
    standings = Standings(VAL, None)
    enter(standings, "start", scores(0.5, 0.5, 0.5, 0.5))
    assert not enter(standings, "v", [*scores(0.6, 0.6, 0.3), failed("provider", "d")])
    assert standings.best() == "start"
    assert enter(standings, "v", [scored(1.0, "d")])
    assert standings.best() == "v"
