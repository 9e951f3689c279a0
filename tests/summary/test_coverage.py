from __future__ import annotations

import json

import pytest

from skynet.summary.coverage import Coverage, Failure, count_coverage, count_states


def covering(measured: int, total: int) -> Coverage:
    return Coverage(total, measured, total - measured, 0, 0, 0)


def test_a_target_failure_is_measured_and_the_other_failures_are_not() -> None:
    outcomes: list[tuple[bool, Failure | None]] = [
        (True, None), (True, None), (False, None), (False, "target"), (False, "metric"), (True, "provider"),
    ]  # fmt: skip
    coverage = count_coverage(outcomes)
    assert coverage == Coverage(6, 3, 1, 1, 1, 1)
    assert coverage.share == 0.5


def test_nothing_to_measure_has_no_share() -> None:
    coverage = count_coverage([])
    assert coverage.share is None
    assert json.loads(json.dumps(coverage.to_json(), allow_nan=False))["share"] is None


@pytest.mark.parametrize(
    ("own", "its", "may_win"),
    [
        ((100, 100), (100, 100), True),
        ((95, 100), (100, 100), True),
        ((94, 100), (100, 100), False),
        ((19, 20), (20, 20), True),  # exactly five points, which floats would call more
        ((18, 20), (20, 20), False),
        ((85, 100), (90, 100), True),
        ((100, 100), (50, 100), True),
        ((0, 10), (0, 10), True),
        ((0, 0), (10, 10), False),
        ((10, 10), (0, 0), True),
    ],
)
def test_a_version_more_than_five_points_under_the_incumbent_falls_behind(
    own: tuple[int, int], its: tuple[int, int], may_win: bool
) -> None:
    assert covering(*own).keeps_up_with(covering(*its)) is may_win


def test_the_coverage_of_an_output_counts_scored_missing_and_failed() -> None:
    coverage = count_states(["scored", "missing", "scored", "failed"])
    assert coverage.to_json() == {"total": 4, "scored": 2, "missing": 1, "failed": 1}
