from __future__ import annotations

import pytest

from skynet.runs.report_failures import failure_warnings, failures_of
from skynet.runs.stored_evaluations import StoredEvaluation
from skynet.summary.coverage import Failure
from skynet.workers.fault import Fault

NAMES = {"a": "v0", "b": "v1", "c": "v2", "d": "v3", "e": "v4"}


def evaluation(version: str = "a", failure: Failure | None = None, fault: Fault | None = None) -> StoredEvaluation:
    return StoredEvaluation(version, "0", "val", None if failure else 1.0, failure, fault, forked=False)


def raised(message: str, line: int | None = 5) -> Fault:
    return Fault("raised", message, type="KeyError", file="project/metric.py" if line else None, line=line)


def failed(kind: Failure, *versions: str, message: str = "'x'", line: int | None = 5) -> list[StoredEvaluation]:
    return [evaluation(version, kind, raised(message, line)) for version in versions]


def warned(evaluations: list[StoredEvaluation]) -> list[str]:
    return failure_warnings(failures_of(evaluations), NAMES, 0.0)


def test_one_place_in_the_users_file_is_one_cause_whatever_the_message() -> None:
    found = failures_of([evaluation(), *failed("metric", "a", message="'x'"), *failed("metric", "b", message="'y'")])
    [group] = found["groups"]
    assert found["evaluations"] == 3
    assert (group["failure"], group["count"], group["versions"]) == ("metric", 2, {"a": 1, "b": 1})
    assert (group["error"], group["file"], group["line"]) == (
        "KeyError: 'x' (metric.py, line 5)",
        "project/metric.py",
        5,
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (failed("metric", "a", line=5), failed("metric", "a", line=9)),
        (failed("metric", "a"), failed("target", "a")),
        (failed("provider", "a", message="status 400", line=None), failed("provider", "a", message="no", line=None)),
    ],
)
def test_other_lines_other_kinds_and_other_messages_without_a_line_are_other_causes(
    one: list[StoredEvaluation], other: list[StoredEvaluation]
) -> None:
    assert len(failures_of([*one, *other])["groups"]) == 2


def test_the_most_frequent_cause_comes_first() -> None:
    found = failures_of([*failed("metric", "a", line=1), *failed("metric", "a", "a", line=2)])
    assert [group["line"] for group in found["groups"]] == [2, 1]


def test_what_another_run_paid_is_not_counted() -> None:
    forked = StoredEvaluation("a", "0", "val", 1.0, None, None, forked=True)
    assert failures_of([forked, evaluation()])["evaluations"] == 1


def test_a_metric_that_fails_is_told_with_place_count_and_versions() -> None:
    assert warned([*[evaluation()] * 4, *failed("metric", "b", "c", "d", "e", "b", "c")]) == [
        "The metric failed on 6 of 10 evaluations, which therefore have no score (an engine is told the failure score, "
        "0): KeyError: 'x' (metric.py, line 5). It failed in v1, v2, v3 and v4."
    ]


@pytest.mark.parametrize(
    ("kind", "opening"),
    [
        ("target", "The target failed on 5 of 100 evaluations, which count as the failure score, 0: KeyError"),
        ("provider", "A model's provider failed on 5 of 100 evaluations, which therefore have no score: KeyError"),
    ],
)
def test_other_failures_are_told_from_a_share_of_5_percent_on(kind: Failure, opening: str) -> None:
    [told] = warned([*[evaluation()] * 95, *failed(kind, *["a"] * 5)])
    assert told.startswith(opening)
    assert warned([*[evaluation()] * 96, *failed(kind, *["a"] * 4)]) == []


def test_one_failure_of_the_metric_is_told_however_many_evaluations_there_are() -> None:
    assert len(warned([*[evaluation()] * 999, *failed("metric", "a")])) == 1


def test_of_many_causes_three_are_named_and_the_rest_counted() -> None:
    [told] = warned([item for line in range(1, 6) for item in failed("metric", *["a"] * (6 - line), line=line)])
    assert "(metric.py, line 1), 5 times; KeyError: 'x' (metric.py, line 2), 4 times" in told
    assert "line 3), 3 times; other errors, 3 times" in told
    assert "line 4" not in told


def test_states_that_were_never_put_forward_are_counted() -> None:
    [told] = warned(failed("metric", "a", "probe", "other probe"))
    assert told.endswith("It failed in v0 and 2 states that the engine only tried out.")
