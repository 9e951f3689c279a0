from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any

import pytest

from skynet.engine import Evaluation, ModelFailed
from skynet.evaluation.guards import FAILURES_IN_A_ROW, IDLE_STEPS, Stop
from skynet.evaluation.rollout import current_meter
from skynet.evaluation.source_files import SourceChanged
from skynet.models.calls import Reply, current_place
from skynet.models.gateway import Gateway
from skynet.models.ledger import Ledger
from skynet.models.retry import RetryPolicy
from skynet.runs.books import RunBooks
from skynet.runs.engine_models import EngineModels
from skynet.spec import ModelSpec, ModelsSpec
from tests.loopback import ModelServer, model_server, status
from tests.runs.plans import plan, rows, scored

from .bench import Bench, bench, make_bench, shared_project

__all__ = ["bench", "make_bench", "model_server", "shared_project"]

PROBE = plan("probe")


def reply(cost: float | None = 0.25, waited: float = 0.0) -> Reply:
    return Reply("ok", 3, 1, cost, 10.0, waited, "model")


def roll(
    bench: Bench, content: Any, output: Any, case: int = 0, occurrence: int = 0, repetition: int = 0
) -> Evaluation:
    with bench.evaluator.rollout(content, bench.val[case], occurrence, repetition) as rollout:
        return rollout.evaluation or rollout.finish(output)


def test_an_output_that_the_engine_made_is_scored_and_journaled(bench: Bench) -> None:
    found = roll(bench, bench.start, 0.75)
    assert (found.score, found.output, found.version) == (0.75, 0.75, bench.start.id)
    assert not (bench.folder / "ran.txt").exists()
    assert bench.books.journal.count("evaluation") == bench.budget.spent.metric_calls == 1


def test_a_known_rollout_comes_back_at_once_and_costs_nothing(bench: Bench) -> None:
    first = roll(bench, bench.start, 0.75)
    with bench.evaluator.rollout(bench.start, bench.val[0]) as rollout:
        assert rollout.evaluation == first
        with pytest.raises(ValueError, match="already knew"):
            rollout.finish(0.1)
    assert bench.budget.spent.metric_calls == 1


def test_another_occurrence_is_a_rollout_of_its_own(bench: Bench) -> None:
    assert roll(bench, bench.start, 0.25).score == 0.25
    assert roll(bench, bench.start, 0.75, occurrence=1).score == 0.75
    assert roll(bench, bench.start, 0.5).score == 0.25


def test_each_repetition_is_a_rollout_of_its_own_and_kept(make_bench: Any) -> None:
    bench = make_bench(repeats=2)
    found = [roll(bench, bench.start, output, repetition=number) for number, output in enumerate((0.25, 0.75))]
    assert [(item.score, item.repetition) for item in found] == [(0.25, 0), (0.75, 1)]
    assert roll(bench, bench.start, 0.1, repetition=1).score == 0.75
    assert [body["repetition"] for _, body in bench.books.journal.entries("evaluation")] == [0, 1]
    assert bench.budget.spent.metric_calls == 2


def test_with_repeats_a_version_stands_on_val_once_each_repetition_was_rolled_out(make_bench: Any) -> None:
    bench = make_bench(repeats=2)
    version = bench.put(plan("a"))
    for case in range(3):
        roll(bench, version, 1.0, case)
    assert bench.standings.best() is None
    for case in range(3):
        roll(bench, version, 0.5, case, repetition=1)
    assert bench.standings.best() == version.id
    assert bench.standings.of(version.id).mean() == 0.75


def test_the_served_repetitions_of_one_run_are_one_step_of_the_idle_guard(make_bench: Any) -> None:
    bench = make_bench(repeats=5)
    for number in range(5):
        roll(bench, bench.start, 0.5, repetition=number)
    for _ in range(IDLE_STEPS):
        for number in range(5):
            roll(bench, bench.start, 0.5, repetition=number)
    with pytest.raises(Stop) as caught:
        roll(bench, bench.start, 0.5)
    assert caught.value.reason == "converged"


def test_a_rollout_is_finished_once(bench: Bench) -> None:
    with bench.evaluator.rollout(bench.start, bench.val[0]) as rollout:
        rollout.finish(0.75)
        with pytest.raises(ValueError, match="finished before"):
            rollout.finish(0.5)


def test_one_under_way_is_waited_for_and_never_started_twice(bench: Bench) -> None:
    started, go = threading.Event(), threading.Event()

    def first() -> Evaluation:
        with bench.evaluator.rollout(bench.start, bench.val[0]) as rollout:
            started.set()
            assert go.wait(20)
            return rollout.finish(0.75)

    with ThreadPoolExecutor(2) as threads:
        one = threads.submit(first)
        assert started.wait(20)
        two = threads.submit(roll, bench, bench.start, 0.1)
        time.sleep(0.05)
        assert not two.done()
        go.set()
        assert one.result() == two.result()
    assert scored(bench.folder) == ["val0"]


def test_model_calls_inside_are_charged_to_the_case(bench: Bench) -> None:
    with bench.evaluator.rollout(bench.start, bench.val[0]) as rollout:
        meter = current_meter.get()
        assert meter is not None
        meter.add(reply(0.25))
        meter.add(reply(0.5))
        assert current_place.get() == rollout.key
        found = rollout.finish(0.75)
    assert found.cost_usd == 0.75
    ((_, body),) = bench.books.journal.entries("evaluation")
    assert (body["model_calls"], body["prompt_tokens"], body["completion_tokens"]) == (2, 6, 2)
    assert current_meter.get() is None


def test_one_unpriced_call_makes_the_cost_unknown(bench: Bench) -> None:
    with bench.evaluator.rollout(bench.start, bench.val[0]) as rollout:
        rollout.meter.add(reply(0.25))
        rollout.meter.add(reply(None))
        assert rollout.finish(0.75).cost_usd is None


def test_a_call_that_the_program_did_not_wait_for_is_charged_to_the_case(bench: Bench) -> None:
    with bench.evaluator.rollout(bench.start, bench.val[0]) as rollout:
        begun = threading.Event()

        def late() -> None:
            with rollout.meter.open.call():
                begun.set()
                time.sleep(0.2)
                rollout.meter.add(reply(0.25))

        thread = threading.Thread(target=late)
        thread.start()
        assert begun.wait(20)
        assert rollout.finish(0.75).cost_usd == 0.25
        thread.join()


def test_our_own_waits_are_not_in_its_time(bench: Bench) -> None:
    with bench.evaluator.rollout(bench.start, bench.val[0]) as rollout:
        rollout.meter.add(reply(waited=60_000.0))
        assert rollout.finish(0.75).elapsed_ms == 0.0


def test_an_exception_of_the_program_is_the_versions_failure_and_passes_on(bench: Bench) -> None:
    with pytest.raises(ZeroDivisionError):
        with bench.evaluator.rollout(bench.start, bench.val[0]):
            raise ZeroDivisionError("by hand")
    with bench.evaluator.rollout(bench.start, bench.val[0]) as rollout:
        known = rollout.evaluation
    assert known is not None
    assert (known.status, known.failure) == ("failed", "target")
    assert "by hand" in known.feedback
    assert bench.budget.spent.metric_calls == 0


def test_a_failed_rollout_of_a_version_stands_on_val_like_any_other(bench: Bench) -> None:
    for case in range(2):
        roll(bench, bench.start, 0.5, case)
    with pytest.raises(ZeroDivisionError):
        with bench.evaluator.rollout(bench.start, bench.val[2]):
            raise ZeroDivisionError
    assert bench.standings.complete == (bench.start.id,)


@pytest.fixture
def task_model(model_server: ModelServer, bench: Bench) -> Iterator[EngineModels]:
    models = ModelsSpec(task=ModelSpec(name="openai/loopback", base_url=model_server.url))
    gateway = Gateway(models, bench.folder, ledger=Ledger(), environ={}, retry=RetryPolicy(attempts=1))
    yield EngineModels(gateway, "scripted", bench.cancel)
    gateway.close()


def ask(bench: Bench, models: EngineModels) -> Evaluation:
    with bench.evaluator.rollout(bench.start, bench.val[0]) as rollout:
        if rollout.evaluation is not None:
            return rollout.evaluation
        models.complete([{"role": "user", "content": "score?"}], role="task")
        return rollout.finish(0.75)


def test_a_provider_that_fails_inside_is_no_failure_of_the_version_and_is_asked_anew(
    bench: Bench, task_model: EngineModels, model_server: ModelServer
) -> None:
    model_server.fail(status(500))
    with pytest.raises(ModelFailed):
        ask(bench, task_model)
    ((_, body),) = bench.books.journal.entries("evaluation")
    assert (body["status"], body["failure"]) == ("failed", "provider")
    assert ask(bench, task_model).score == 0.75
    assert len(model_server.requests) == 2


def test_a_stop_inside_leaves_nothing_in_the_books(bench: Bench) -> None:
    with pytest.raises(Stop):
        with bench.evaluator.rollout(bench.start, bench.val[0]):
            raise Stop("budget_usd")
    assert bench.books.journal.count("evaluation") == 0
    assert bench.budget.remaining.metric_calls == 100
    assert roll(bench, bench.start, 0.5).score == 0.5


def test_a_rollout_that_was_not_finished_is_not_paid(bench: Bench) -> None:
    with bench.evaluator.rollout(bench.start, bench.val[0]):
        pass
    assert bench.budget.spent.metric_calls == 0
    assert bench.books.journal.count("evaluation") == 0


@pytest.mark.parametrize("scored", [True, False])
def test_only_a_run_that_is_scored_brings_a_search_further(bench: Bench, scored: bool) -> None:
    for _ in range(IDLE_STEPS - 1):
        bench.evaluator.reject("", "it replied with nothing")
    with bench.evaluator.rollout(bench.start, bench.val[0]) as rollout:
        _ = rollout.finish(0.5) if scored else rollout.fail(ValueError("no output"))
    with nullcontext() if scored else pytest.raises(Stop, match="20 steps in a row"):
        bench.evaluator.reject("", "it replied with nothing")


def test_a_probe_is_paid_and_never_a_candidate(bench: Bench) -> None:
    for case in range(3):
        assert roll(bench, PROBE, 1.0, case).score == 1.0
    assert bench.budget.spent.metric_calls == 3
    assert bench.standings.complete == ()
    assert bench.standings.best() is None


def test_a_version_rolled_out_on_all_of_val_is_a_candidate(bench: Bench) -> None:
    version = bench.put(plan("a"))
    for case in range(3):
        roll(bench, version, 1.0, case)
    assert bench.standings.best() == version.id


def test_a_spent_budget_stops_before_the_program_runs(make_bench: Any) -> None:
    bench = make_bench(metric_calls=1)
    roll(bench, bench.start, 0.5)
    with pytest.raises(Stop) as caught:
        with bench.evaluator.rollout(bench.start, bench.val[1]):
            pytest.fail("the program ran without a budget")
    assert caught.value.reason == "budget_metric_calls"


def test_a_cancelled_run_opens_no_rollout(bench: Bench) -> None:
    bench.cancel.set()
    with pytest.raises(Stop) as caught:
        roll(bench, bench.start, 0.5)
    assert caught.value.reason == "cancelled"


def test_a_run_that_the_engine_says_failed_keeps_the_steps_that_it_made(bench: Bench) -> None:
    with bench.evaluator.rollout(PROBE, bench.val[0]) as rollout:
        failed = rollout.fail(LookupError("not in the book"), {"calls": [1]})
    assert (failed.status, failed.failure, failed.steps) == ("failed", "target", {"calls": [1]})
    assert "LookupError: not in the book" in failed.feedback
    with bench.evaluator.rollout(PROBE, bench.val[0]) as again:
        assert again.evaluation == failed
    assert bench.budget.spent.metric_calls == 0


def test_an_output_that_cannot_cross_to_the_metric_is_the_versions_failure(bench: Bench) -> None:
    failed = roll(bench, PROBE, {"answer": object()})
    assert (failed.status, failed.failure) == ("failed", "target")
    assert "a value of type object at ['output']['answer']" in failed.feedback


def test_a_sample_of_a_version_does_not_count_for_its_standing(bench: Bench) -> None:
    version = bench.evaluator.propose(PROBE, bench.start)
    for number in range(len(bench.val)):
        roll(bench, version, 0.9, number, occurrence=2)
    assert bench.standings.of(version.id) is None


def in_flight(bench: Bench) -> int:
    """How many metric calls a process that came after this one would find under way."""
    return len(RunBooks(bench.store, bench.row).journal.in_flight())


def test_a_stop_before_score_is_called_costs_no_metric_call(make_bench: Any) -> None:
    bench = make_bench(data=rows())
    with (bench.folder / "metric.py").open("a", encoding="utf-8") as file:
        file.write("# changed before a worker had loaded it\n")
    with pytest.raises(SourceChanged):
        roll(bench, bench.start, 0.5)
    assert (bench.budget.spent.metric_calls, bench.budget.remaining.metric_calls, in_flight(bench)) == (0, 100, 0)


def roll_and_raise(bench: Bench, content: Any, case: int = 0, occurrence: int = 0) -> None:
    with pytest.raises(ZeroDivisionError):
        with bench.evaluator.rollout(content, bench.val[case], occurrence):
            raise ZeroDivisionError("by hand")


def test_rollouts_that_raise_again_and_again_at_one_place_end_the_run(bench: Bench) -> None:
    for number in range(FAILURES_IN_A_ROW - 1):
        roll_and_raise(bench, PROBE, occurrence=number)
    with pytest.raises(Stop) as caught:
        roll_and_raise(bench, PROBE, occurrence=FAILURES_IN_A_ROW)
    assert caught.value.reason == "target_broken"


def test_contents_whose_rollouts_all_raise_are_steps_of_the_idle_guard(make_bench: Any) -> None:
    bench = make_bench(code_may_fail=True)
    for number in range(IDLE_STEPS):
        roll_and_raise(bench, plan(f"probe {number}"))
    with pytest.raises(Stop) as caught:
        roll_and_raise(bench, plan("one more"))
    assert caught.value.reason == "converged"


def test_one_content_that_raises_on_every_case_is_one_step(make_bench: Any) -> None:
    bench = make_bench(data=rows(val=IDLE_STEPS + 5), code_may_fail=True)
    for number in range(IDLE_STEPS + 5):
        roll_and_raise(bench, PROBE, number)
    assert roll(bench, bench.start, 0.5).score == 0.5
