from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from skynet.runs.report_warnings import left_out
from skynet.runs.verdict import SealedPass, judge
from tests.evaluation.records import scored

from .plans import drive, plan, rows, write_plans
from .scripted import scripted

__all__ = ["scripted"]

START = plan("start", 0.25)
pytestmark = pytest.mark.usefixtures("scripted")


def warned(data: Mapping[str, Any], opening: str) -> list[str]:
    return [text for text in data["warnings"] if text.startswith(opening)]


def test_a_metric_that_fails_on_better_versions_only_is_told(tmp_path: Path) -> None:
    data = drive(write_plans(tmp_path, START, plan("better", "metric raises"))).data
    [told] = warned(data, "The metric failed on 3 of ")
    assert "RuntimeError: no luck (metric.py, line" in told
    assert told.endswith("It failed in v1.")
    [group] = data["failures"]["groups"]
    assert (group["failure"], group["count"], group["versions"]) == ("metric", 3, {data["versions"][1]["id"]: 3})


def test_test_cases_that_were_not_measured_for_both_are_told_with_the_coverage_of_each(tmp_path: Path) -> None:
    better = plan("better", 0.75, test0="unmeasured")
    [told] = warned(drive(write_plans(tmp_path, START, better)).data, "Not on all test cases")
    assert "1 of 3 cases was not measured for both and is in no figure on test" in told
    assert "(the start was measured on 3 of 3; the best was measured on 2 of 3, 1 unmeasured)" in told


@pytest.mark.parametrize("texts", [(), (plan("better", 0.75),)])
def test_whole_coverage_is_not_warned_of(tmp_path: Path, texts: tuple[str, ...]) -> None:
    assert warned(drive(write_plans(tmp_path, START, *texts)).data, "Not on all test cases") == []


def test_an_unchanged_start_that_was_not_measured_everywhere_is_told(tmp_path: Path) -> None:
    [told] = warned(drive(write_plans(tmp_path, plan("start", 0.25, test0="unmeasured"))).data, "Not on all test")
    assert "1 of 3 cases was not measured and is in no figure on test (the start was measured on 2 of 3" in told


@pytest.mark.parametrize(
    ("paid", "told"),
    [
        ("ab", "the first ones in seeded order."),
        (
            "ac",
            "not just the first ones in seeded order, since some before the last of them were not paid for to the end.",
        ),
    ],
)
def test_the_cases_that_the_budget_paid_for_are_called_the_first_ones_only_where_they_are(paid: str, told: str) -> None:
    start = SealedPass("start", tuple(scored(1.0, case) for case in paid), 0.0)
    verdict = judge(start, None, span=1.0, seed=0, cases=2, left_out=2)
    assert left_out(verdict, "abcd") == f"The budget paid for 2 of 4 test cases: {told}"


def test_a_higher_mean_over_too_few_val_cases_is_told(tmp_path: Path) -> None:
    lucky = plan("lucky", 1.0, val1="unmeasured", val2="unmeasured")
    [told] = warned(drive(write_plans(tmp_path, START, lucky)).data, "v1 cannot win")
    assert told == (
        "v1 cannot win though it scored 1 on val and v0 0.25: it was measured on 1 of 3 val evaluations, v0 on 3."
    )


def test_a_target_that_fails_often_is_told_and_seldom_not(tmp_path: Path) -> None:
    often = plan("often", 0.5, val0="raise", val1="raise")
    assert len(warned(drive(write_plans(tmp_path / "often", START, often)).data, "The target failed on 2 of")) == 1
    seldom = write_plans(tmp_path / "seldom", START, plan("seldom", 0.5, val0="raise"), data=rows(val=12, test=12))
    assert warned(drive(seldom).data, "The target failed") == []


def test_test_rows_that_an_earlier_run_scored_are_told_of_though_nothing_changed(tmp_path: Path) -> None:
    folder = write_plans(tmp_path, START)
    assert warned(drive(folder).data, "Test seen") == []
    [told] = warned(drive(folder).data, "Test seen 2 times")
    assert "no longer unseen" in told
