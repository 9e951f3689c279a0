from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from skynet.artifact import Artifact
from skynet.data.case import Case
from skynet.evaluation.guards import FAILURES_IN_A_ROW, Stop
from skynet.evaluation.record import Record
from tests.runs.plans import plan, ran, rows, scored

from .bench import Bench, bench, make_bench, shared_project

__all__ = ["bench", "make_bench", "shared_project"]


def artifact(name: str, default: Any = 0.5, **cases: Any) -> Artifact:
    return Artifact("text", plan(name, default, **cases))


def run(bench: Bench, item: Artifact, *texts: str) -> list[Record]:
    return bench.execution.run([(item, bench.case(text)) for text in texts], "val").records


def test_a_batch_comes_back_in_the_order_asked_for(bench: Bench) -> None:
    records = run(bench, artifact("a", 0.5, val1=0.25), "val2", "val1", "val0")
    assert [record.score for record in records] == [0.5, 0.25, 0.5]


def test_what_is_known_is_served_without_running_anything(bench: Bench) -> None:
    first = run(bench, artifact("a"), "val0", "val1")
    again = run(bench, artifact("a"), "val1", "val0")
    assert again == first[::-1]
    assert len(ran(bench.folder)) == len(scored(bench.folder)) == bench.budget.spent.metric_calls == 2


def test_a_batch_tells_how_many_of_its_evaluations_are_new(bench: Bench) -> None:
    pairs = [(artifact("a"), bench.case(text)) for text in ("val0", "val1", "val2")]
    assert bench.execution.run(pairs[:2], "val").paid == 2
    assert bench.execution.run(pairs, "val").paid == 1
    assert bench.execution.run(pairs, "val").paid == 0


def test_requests_for_one_evaluation_from_many_threads_execute_it_once(bench: Bench) -> None:
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: run(bench, artifact("a"), "val0", "val1"), range(16)))
    assert all(records == found[0] for records in found)
    assert len(ran(bench.folder)) == bench.budget.spent.metric_calls == 2


def test_each_repetition_is_run_and_kept(make_bench: Any) -> None:
    bench = make_bench(repeats=3)
    records = run(bench, artifact("a", val0={"first": 0.25, "later": 0.75}), "val0")
    assert [record.repetition for record in records] == [0, 1, 2]
    assert sorted(record.score or 0 for record in records) == [0.25, 0.75, 0.75]
    assert bench.books.journal.count("evaluation") == 3


def test_rows_of_equal_content_are_evaluations_of_their_own(make_bench: Any) -> None:
    row = {"text": "same", "label": 1.0, "part": "val"}
    bench = make_bench(data=[*rows(val=0), row, row])
    one, two = bench.splits.val.values()
    records = bench.execution.run([(artifact("a"), one), (artifact("a"), two)], "val").records
    assert [record.case for record in records] == [one.id, two.id]
    assert len(ran(bench.folder)) == 2


def test_an_evaluation_is_in_the_books_before_it_is_handed_out(bench: Bench) -> None:
    (record,) = run(bench, artifact("a"), "val0")
    ((_, body),) = bench.books.journal.entries("evaluation")
    assert Record.from_json(body) == record
    events = [event for event in bench.books.events.read() if event.kind == "evaluated"]
    assert [(event.version, event.details["case"], event.details["score"]) for event in events] == [
        (record.version, record.case, 0.5)
    ]


@pytest.mark.parametrize(
    ("value", "failure", "status", "metric_calls"),
    [
        ("raise", "target", "failed", 0),
        ("die", "target", "failed", 0),
        ("metric raises", "metric", "failed", 1),
        ("metric returns text", "metric", "failed", 1),
        ("unmeasured", None, "unmeasured", 1),
        (0.25, None, "ok", 1),
    ],
)
def test_a_metric_call_is_an_execution_of_score(
    bench: Bench, value: Any, failure: str | None, status: str, metric_calls: int
) -> None:
    (record,) = run(bench, artifact("a", value), "val0")
    assert (record.failure, record.status) == (failure, status)
    assert (record.score is None) == (status != "ok")
    assert bench.budget.spent.metric_calls == metric_calls


def test_a_failed_evaluation_is_served_like_any_other(bench: Bench) -> None:
    first = run(bench, artifact("a", "metric raises"), "val0")
    assert run(bench, artifact("a", "metric raises"), "val0") == first
    assert bench.budget.spent.metric_calls == 1


def test_a_retry_executes_anew_and_keeps_the_failed_one_in_the_books(bench: Bench) -> None:
    item = artifact("a", val0={"first": "metric raises", "later": 0.75})
    (first,) = run(bench, item, "val0")
    bench.execution.retry(item, bench.case("val0"), 0)
    (second,) = run(bench, item, "val0")
    assert (first.failure, second.score) == ("metric", 0.75)
    assert bench.books.journal.count("evaluation") == 2


def test_a_batch_that_does_not_fit_the_budget_is_not_begun(make_bench: Any) -> None:
    bench = make_bench(metric_calls=2)
    with pytest.raises(Stop) as caught:
        run(bench, artifact("a"), "val0", "val1", "val2")
    assert caught.value.reason == "budget_metric_calls"
    assert not (bench.folder / "ran.txt").exists()
    assert len(run(bench, artifact("a"), "val0", "val1")) == 2


def test_only_what_is_new_in_a_batch_needs_to_fit(make_bench: Any) -> None:
    bench = make_bench(metric_calls=3)
    run(bench, artifact("a"), "val0", "val1")
    assert len(run(bench, artifact("a"), "val0", "val1", "val2")) == 3


def test_the_budget_is_never_overshot_by_threads(make_bench: Any) -> None:
    bench = make_bench(metric_calls=7)

    def work(number: int) -> int:
        try:
            return len(run(bench, artifact(f"a{number}"), "val0", "val1"))
        except Stop:
            return 0

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(work, range(12))) == 6
    assert bench.budget.spent.metric_calls == 6


def test_a_cancelled_run_begins_nothing_and_cuts_off_what_hangs(bench: Bench) -> None:
    timer = threading.Timer(0.3, bench.cancel.set)
    timer.start()
    with pytest.raises(Stop) as caught:
        run(bench, artifact("a", val0="hang"), "val0", "val1")
    assert caught.value.reason == "cancelled"
    with pytest.raises(Stop):
        run(bench, artifact("b"), "val2")
    assert ("b", "val2") not in ran(bench.folder)
    assert bench.books.journal.count("evaluation") == 1  # val1 was paid, and stays
    assert bench.budget.spent.metric_calls == 1
    assert bench.budget.remaining.metric_calls == 99


def test_what_stops_the_run_stops_the_rest_of_its_batch(make_bench: Any) -> None:
    bench = make_bench(data=rows(val=60))
    cases: list[Case] = list(bench.splits.val.values())
    with pytest.raises(Stop) as caught:
        bench.execution.run([(artifact("a", "raise"), case) for case in cases], "val")
    assert caught.value.reason == "target_broken"
    assert FAILURES_IN_A_ROW <= len(ran(bench.folder)) < FAILURES_IN_A_ROW + 5
    assert bench.budget.remaining.metric_calls == 100


def test_a_case_runs_with_the_same_random_seed_whatever_the_order(make_bench: Any) -> None:
    random_run = "import random\ndef run(artifact, input):\n    return random.random()\n"
    bench = make_bench(data=rows(), run=random_run)
    forth = run(bench, artifact("a"), "val0", "val1")
    back = run(bench, artifact("b"), "val1", "val0")
    assert [record.output for record in back] == [record.output for record in forth[::-1]]
