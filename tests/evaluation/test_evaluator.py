from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from skynet.engine import Evaluation, LaneConverged, Rejected, TaskCase
from skynet.evaluation.evaluator import REPLY_CHARACTERS
from skynet.evaluation.guards import IDLE_STEPS, Stop
from skynet.runs.fault import StoreError
from tests.runs.plans import plan, ran, rows

from .bench import Bench, bench, make_bench, shared_project

__all__ = ["bench", "make_bench", "shared_project"]


def by_text(bench: Bench, evaluations: list[Evaluation]) -> dict[str, Evaluation]:
    cases = {**bench.splits.train, **bench.splits.val}
    return {str(cases[item.case].input["text"]): item for item in evaluations}


def kinds(bench: Bench) -> list[str]:
    return [event.kind for event in bench.books.events.read()]


def test_an_evaluation_tells_what_the_metric_said_and_where(bench: Bench) -> None:
    found = by_text(bench, bench.evaluate(plan("a", 0.25), bench.val[:1]))["val0"]
    assert (found.status, found.failure, found.score, found.value, found.split) == ("ok", None, 0.25, 0.25, "val")
    assert found.feedback == "val0 scored 0.25"
    assert found.scores == {"half": 0.125}
    assert found.elapsed_ms is not None
    assert found.cost_usd == 0.0


def test_train_and_val_may_be_asked_for_together_and_come_back_in_order(bench: Bench) -> None:
    cases = (bench.val[1], bench.train[0], bench.val[0])
    found = bench.evaluate(plan("a"), cases)
    assert [item.case for item in found] == [case.id for case in cases]
    assert [item.split for item in found] == ["val", "train", "val"]


def test_a_case_asked_for_twice_is_executed_once(bench: Bench) -> None:
    assert len(bench.evaluate(plan("a"), (bench.val[0], bench.val[0]))) == 2
    assert len(ran(bench.folder)) == 1


def test_the_failure_of_a_target_counts_as_the_failure_score_and_shows_the_users_frames(bench: Bench) -> None:
    found = by_text(bench, bench.evaluate(plan("a", 0.5, val1="raise")))["val1"]
    assert (found.failure, found.score, found.value) == ("target", None, 0.0)
    assert "no output for val1" in found.feedback
    assert "run.py" in found.feedback
    assert found.error is not None


def test_a_failing_metric_gives_the_failure_score_and_none_of_its_source(bench: Bench) -> None:
    found = by_text(bench, bench.evaluate(plan("a", 0.5, val1="metric raises")))["val1"]
    assert (found.failure, found.score, found.value) == ("metric", None, 0.0)
    assert found.error == "the metric failed on this output (RuntimeError); no score"
    assert "metric.py" not in found.feedback + found.error


def test_an_unmeasured_case_stands_at_the_mean_of_the_measured_ones_in_its_batch(bench: Bench) -> None:
    found = by_text(bench, bench.evaluate(plan("a", 0.25, val0="unmeasured", val1=0.75)))["val0"]
    assert (found.status, found.score, found.value) == ("unmeasured", None, 0.5)
    assert found.feedback == "no reading"


def test_a_batch_without_any_score_stands_at_the_failure_score(bench: Bench) -> None:
    assert [item.value for item in bench.evaluate(plan("a", "unmeasured"))] == [0.0, 0.0, 0.0]


def test_the_failure_score_sinks_with_the_lowest_score_of_the_run(bench: Bench) -> None:
    bench.evaluate(plan("low", -3.0), bench.val[:1])
    assert bench.evaluate(plan("a", "raise"), bench.val[:1])[0].value == -3.0


def test_with_repeats_there_is_one_evaluation_a_case_with_the_mean_of_its_repetitions(make_bench: Any) -> None:
    bench = make_bench(repeats=2)
    (found,) = bench.evaluate(plan("a", 0.5, val0={"first": 0.25, "later": 0.75}), bench.val[:1])
    assert (found.value, found.score, found.scores) == (0.5, 0.5, {"half": 0.25})
    assert "scored 0.25" in found.feedback
    assert "scored 0.75" in found.feedback


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (" \n", "it is empty"),
        (plan("start", 0.5), "it is identical to the version it came from"),
        (plan("seen"), "which was evaluated before"),
    ],
)
def test_a_proposal_that_needs_no_evaluation_is_rejected_with_the_reason(
    bench: Bench, content: str, reason: str
) -> None:
    bench.put(plan("seen"))
    with pytest.raises(Rejected, match=reason):
        bench.put(content)
    assert reason in bench.versions.rejections[-1][1]
    assert kinds(bench).count("rejected") == 1
    assert not (bench.folder / "ran.txt").exists()


def test_a_broken_proposal_is_rejected_with_what_the_check_says(bench: Bench) -> None:
    bench.versions._check = lambda content: "it lost the placeholder {{ text }}"
    with pytest.raises(Rejected, match="it lost the placeholder"):
        bench.put(plan("a"))


def test_a_taken_proposal_is_stored_with_its_parent_and_note(bench: Bench) -> None:
    version = bench.put(plan("a"))
    stored = bench.books.versions.all()
    assert [item.id for item in stored] == [bench.start.id, version.id]
    assert (stored[1].parent, stored[1].note) == (bench.start.id, "put forward by a test")
    assert kinds(bench) == ["proposed", "proposed"]


def test_only_what_was_put_forward_can_be_evaluated(bench: Bench) -> None:
    from skynet.artifact import Artifact
    from skynet.engine import Version

    with pytest.raises(ValueError, match="was not put forward"):
        bench.evaluator.evaluate(Version(Artifact("text", plan("smuggled", 9.0))), bench.val)


def test_test_cases_cannot_be_reached(bench: Bench) -> None:
    sealed = bench.project.dataset.test[0]
    with pytest.raises(ValueError, match="no case of this task"):
        bench.evaluator.evaluate(bench.start, [TaskCase(sealed.id, sealed.input)])


def test_a_better_version_is_accepted_when_it_was_tried_on_all_of_val(bench: Bench) -> None:
    bench.evaluator.evaluate(bench.start, bench.val)
    better = bench.put(plan("better", 0.75))
    bench.evaluator.evaluate(better, bench.val[:2])
    assert bench.standings.best() == bench.start.id
    bench.evaluator.evaluate(better, bench.val)
    assert bench.standings.best() == better.id
    accepted = [event for event in bench.books.events.read() if event.kind == "accepted"]
    assert [(event.version, event.details["val"]) for event in accepted] == [(bench.start.id, 0.5), (better.id, 0.75)]


def test_train_scores_make_no_version_best(bench: Bench) -> None:
    bench.evaluator.evaluate(bench.start, bench.val)
    bench.evaluate(plan("a", 0.9), bench.train)
    assert bench.standings.best() == bench.start.id


def test_remaining_falls_with_what_is_paid_and_not_with_what_is_served(make_bench: Any) -> None:
    bench = make_bench(metric_calls=10)
    version = bench.put(plan("a"))
    bench.evaluator.evaluate(version, bench.val)
    bench.evaluator.evaluate(version, bench.val)
    assert bench.evaluator.remaining == 7


def test_closed_doors_stay_closed(bench: Bench) -> None:
    bench.evaluator.close(Stop("cancelled"))
    bench.evaluator.close(Stop("budget_seconds"))
    for door in (
        lambda: bench.put(plan("a")),
        lambda: bench.evaluator.reject("", "it replied with nothing"),
        lambda: bench.evaluator.evaluate(bench.start, bench.val),
        lambda: bench.evaluator.rollout(bench.start, bench.val[0]).__enter__(),
    ):
        with pytest.raises(Stop) as caught:
            door()
        assert caught.value.reason == "cancelled"


def test_an_engine_that_proposes_nothing_new_has_converged(bench: Bench) -> None:
    for _ in range(IDLE_STEPS - 1):
        with pytest.raises(Rejected):
            bench.put(plan("start", 0.5))
    with pytest.raises(Stop) as caught:
        bench.put(plan("start", 0.5))
    assert caught.value.reason == "converged"
    assert len(bench.versions.rejections) == IDLE_STEPS


def test_a_reply_that_cannot_become_a_content_is_entered_with_its_reason(bench: Bench) -> None:
    bench.evaluator.reject("```\nnever closed\ud800 " + "x" * 5_000, "the code fence is never closed")
    assert bench.versions.rejections == [(None, "the code fence is never closed")]
    (event,) = [event for event in bench.books.events.read() if event.kind == "rejected"]
    assert (event.version, event.reason) == (None, "the code fence is never closed")
    assert event.details["reply"] == ("```\nnever closed\ud800 " + "x" * 5_000)[:REPLY_CHARACTERS]


def test_a_proposer_that_never_writes_a_usable_reply_has_converged(bench: Bench) -> None:
    for _ in range(IDLE_STEPS - 1):
        bench.evaluator.reject("", "it replied with nothing")
    with pytest.raises(Stop) as caught:
        bench.evaluator.reject("", "it replied with nothing")
    assert caught.value.reason == "converged"
    assert len(bench.versions.rejections) == kinds(bench).count("rejected") == IDLE_STEPS


def test_versions_that_all_fail_have_converged_since_they_take_no_metric_call(make_bench: Any) -> None:
    bench = make_bench(code_may_fail=True)
    for number in range(IDLE_STEPS - 1):
        bench.evaluate(plan(f"v{number}", "raise"))
    with pytest.raises(Stop) as caught:
        bench.evaluate(plan("last", "raise"))
    assert caught.value.reason == "converged"
    assert bench.budget.spent.metric_calls == 0


def test_a_version_that_fails_on_some_cases_only_is_no_idle_step(make_bench: Any) -> None:
    bench = make_bench(code_may_fail=True)
    for number in range(IDLE_STEPS + 3):
        bench.evaluate(plan(f"v{number}", "raise", val1=0.5))


def test_standing_still_in_a_lane_ends_the_lane_alone(bench: Bench) -> None:
    with bench.evaluator.lane("one"):
        for _ in range(IDLE_STEPS - 1):
            bench.evaluator.reject("", "it replied with nothing")
        with pytest.raises(LaneConverged, match="20 steps in a row"):
            bench.evaluator.reject("", "it replied with nothing")
    bench.evaluate(plan("a"))


def test_many_versions_may_be_put_forward_before_the_first_of_them_is_evaluated(make_bench: Any) -> None:
    bench = make_bench(data=rows(val=1))
    versions = [bench.put(plan(f"v{number}")) for number in range(IDLE_STEPS + 12)]
    assert bench.evaluator.evaluate(versions[-1], bench.val)[0].score == 0.5


def test_nothing_is_told_of_a_version_that_could_not_be_stored(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, then: Callable[[BaseException | None], None], **__: Any) -> None:
        then(StoreError("the disk is full", "full"))

    monkeypatch.setattr(bench.books.versions, "add", refuse)
    version = bench.put(plan("a"))
    with pytest.raises(StoreError, match="the disk is full"):
        bench.evaluator.evaluate(version, bench.val)
    assert version in bench.versions.all()


def test_a_version_is_in_the_store_before_anything_is_known_of_it(bench: Bench) -> None:
    version = bench.put(plan("a"))
    bench.evaluator.evaluate(version, bench.val[:1])
    assert version.id in [item.id for item in bench.books.versions.all()]
