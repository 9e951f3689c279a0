from __future__ import annotations

import pytest

from skynet.engine import Failure, RunStop
from skynet.evaluation.guards import (
    FAILURES_IN_A_ROW,
    FIRST_FAILURES,
    IDLE_STEPS,
    MOST_WAITING,
    BrokenGuard,
    IdleGuard,
    Stop,
)
from skynet.evaluation.record import Record

from .records import failed, scored

START = "start"


def look_at(guard: BrokenGuard, records: list[Record]) -> tuple[int, str | None]:
    """Return how many records the guard saw, and its reason when it stopped there."""
    for number, record in enumerate(records, 1):
        try:
            guard.look(record)
        except Stop as stop:
            return number, stop.reason
    return len(records), None


def test_a_stop_is_no_exception_that_an_engine_could_swallow() -> None:
    assert issubclass(Stop, RunStop)
    assert not issubclass(Stop, Exception)


def test_twenty_rejected_proposals_in_a_row_have_converged() -> None:
    guard = IdleGuard()
    for _ in range(IDLE_STEPS - 1):
        guard.step("rejected")
    with pytest.raises(Stop) as caught:
        guard.step("rejected")
    assert caught.value.reason == "converged"


def test_a_paid_evaluation_begins_the_count_anew() -> None:
    guard = IdleGuard(steps=3)
    for _ in range(4):
        guard.step("rejected")
        guard.step("rejected")
        guard.paid()
    guard.step("rejected")


def test_an_evaluation_that_is_served_after_a_proposal_is_the_same_step() -> None:
    guard = IdleGuard(steps=3)
    for _ in range(2):
        guard.step("rejected")
        guard.step("served")
    with pytest.raises(Stop):
        guard.step("rejected")


def test_a_proposal_that_fails_on_every_case_is_a_step() -> None:
    guard = IdleGuard(steps=3)
    for _ in range(2):
        guard.step("taken")
        guard.step("failed")
        guard.step("served")  # of the version that the next proposal comes from
    guard.step("taken")
    with pytest.raises(Stop):
        guard.step("failed")


def test_a_start_that_fails_on_every_case_is_no_step_before_each_proposal() -> None:
    guard = IdleGuard(steps=3)
    for _ in range(2):
        guard.step("failed")
        guard.step("rejected")
    with pytest.raises(Stop):
        guard.step("rejected")


def test_many_versions_may_wait_for_their_evaluation_but_not_without_end() -> None:
    guard = IdleGuard()
    for _ in range(MOST_WAITING):
        guard.step("taken")
    with pytest.raises(Stop) as caught:
        guard.step("taken")
    assert caught.value.reason == "converged"


def test_another_engine_begins_the_count_anew() -> None:
    guard = IdleGuard(steps=2)
    guard.step("rejected")
    guard.reset()
    guard.step("rejected")
    with pytest.raises(Stop):
        guard.step("rejected")


def test_an_engine_that_only_asks_for_what_is_known_is_idle() -> None:
    guard = IdleGuard(steps=3)
    guard.step("served")
    guard.step("served")
    guard.step("served")
    with pytest.raises(Stop):
        guard.step("served")


@pytest.mark.parametrize(
    ("failure", "reason"), [("metric", "metric_broken"), ("provider", "provider"), ("target", "target_broken")]
)
def test_ten_first_failures_of_the_start_at_one_place_end_the_run(failure: Failure, reason: str) -> None:
    records = [failed(failure, version=START) for _ in range(30)]
    assert look_at(BrokenGuard(START, code_may_fail=False), records) == (FIRST_FAILURES, reason)


def test_the_starts_failures_need_to_be_its_first_evaluations() -> None:
    records = [scored(1.0, version=START), *(failed("target", version=START) for _ in range(FIRST_FAILURES + 2))]
    assert look_at(BrokenGuard(START, code_may_fail=False), records)[1] is None


@pytest.mark.parametrize("failure", ["metric", "provider", "target"])
def test_twenty_failures_in_a_row_of_any_versions_end_the_run(failure: Failure) -> None:
    records = [scored(1.0, version=START), *(failed(failure, version=f"v{n}") for n in range(30))]
    assert look_at(BrokenGuard(START, code_may_fail=False), records)[0] == 1 + FAILURES_IN_A_ROW


@pytest.mark.parametrize(
    "between",
    [scored(0.0), failed("target", line=9), failed("metric", line=3)],
    ids=["a score", "another line", "another side"],
)
def test_what_fails_otherwise_begins_the_row_anew(between: Record) -> None:
    row = [failed("target") for _ in range(FAILURES_IN_A_ROW - 1)]
    assert look_at(BrokenGuard(START, code_may_fail=False), [*row, between, *row])[1] is None


def test_code_may_fail_as_often_as_it_likes_but_its_metric_may_not() -> None:
    targets = [failed("target", version=START) for _ in range(50)]
    metrics = [failed("metric", version=START) for _ in range(50)]
    assert look_at(BrokenGuard(START, code_may_fail=True), targets)[1] is None
    assert look_at(BrokenGuard(START, code_may_fail=True), metrics) == (FIRST_FAILURES, "metric_broken")


def test_a_provider_that_refuses_for_good_ends_the_run_at_once() -> None:
    records = [scored(1.0), failed("provider", permanent=True)]
    assert look_at(BrokenGuard(START, code_may_fail=True), records) == (2, "provider")


def test_the_stop_names_the_cause() -> None:
    guard = BrokenGuard(START, code_may_fail=False)
    for _ in range(FIRST_FAILURES - 1):
        guard.look(failed("metric", version=START))
    with pytest.raises(Stop, match=r"10 evaluations in a row failed.*it went wrong"):
        guard.look(failed("metric", version=START))
