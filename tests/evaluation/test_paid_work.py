from __future__ import annotations

import contextvars
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from skynet.artifact import Artifact
from skynet.data.case import Case
from skynet.evaluation.budget import Budget, Limits
from skynet.evaluation.guards import BrokenGuard, Stop
from skynet.evaluation.paid_work import Job, PaidWork, Task
from skynet.evaluation.record import Record
from skynet.runs.books import RunBooks
from skynet.runs.fault import StoreError
from skynet.runs.store import Store
from skynet.workers.fault import Fault


class Runner:
    """Runs nothing: it keeps what it was asked for, and waits for `go` where one is set."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.go: threading.Event | None = None
        self.fails = False
        self.refused: Record | None = None

    def run(self, artifact: Artifact, case: Case, repetition: int, cancel: threading.Event) -> Record:
        self.ran.append(case.id)
        if self.go is not None:
            assert self.go.wait(20)
        if self.refused is not None:
            return self.refused
        if self.fails:
            fault = Fault("raised", "no luck")
            return Record(artifact.id, case.id, repetition, "failed", "metric", fault=fault, metric_called=True)
        return Record(artifact.id, case.id, repetition, "ok", score=0.5, metric_called=True)


class Shop:
    """Paid work on a store of its own."""

    def __init__(self, store: Store, concurrency: int, ahead: int = 0) -> None:
        self.store = store
        self.row, lock = store.start_run("shop", {}, {})
        lock.release()
        self.books = RunBooks(store, self.row)
        self.budget = Budget(Limits(metric_calls=100))
        self.runner = Runner()
        self.cancel = threading.Event()
        self.work = PaidWork(
            self.runner,  # type: ignore[arg-type]
            self.books,
            self.budget,
            concurrency=concurrency,
            ahead=ahead,
            broken=BrokenGuard("", code_may_fail=False),
            cancel=self.cancel,
            on_done=lambda key: None,
        )

    def give(self, count: int, first: int = 0) -> list[Task]:
        artifact = Artifact("text", "start")
        numbers = range(first, first + count)
        jobs = [Job(artifact, Case(str(n), {"n": n}, None, "", n), 0, "val", f"key{n}") for n in numbers]
        paid = self.budget.reserve_each(count, metric_calls=1)
        tasks = [Task(job, each, contextvars.copy_context()) for job, each in zip(jobs, paid, strict=True)]
        self.work.enter(tasks)
        self.work.begin()
        return tasks

    def in_flight(self) -> list[str]:
        """What a process that came after a kill at this moment would find."""
        return [request.key for request in RunBooks(self.store, self.row).journal.in_flight()]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "skynet.db", busy_seconds=0.2) as store:
        yield store


def outcomes(tasks: list[Task]) -> list[Any]:
    return [error if (error := task.future.exception(20)) is not None else task.future.result() for task in tasks]


def test_only_as_many_as_there_are_threads_are_begun_at_a_time(store: Store) -> None:
    shop = Shop(store, 2)
    shop.runner.go = threading.Event()
    tasks = shop.give(5)
    store.writer.submit()  # a commit after theirs
    assert shop.in_flight() == ["key0", "key1"]
    shop.runner.go.set()
    assert [record.case for record in outcomes(tasks)] == ["0", "1", "2", "3", "4"]
    assert shop.in_flight() == []
    shop.work.close()


def test_those_that_wait_ready_for_a_place_at_the_model_are_begun_too(store: Store) -> None:
    shop = Shop(store, 2, ahead=1)
    shop.runner.go = threading.Event()
    tasks = shop.give(5)
    store.writer.submit()
    assert shop.in_flight() == ["key0", "key1", "key2"]
    shop.runner.go.set()
    assert len(outcomes(tasks)) == 5
    shop.work.close()


def test_a_record_that_somebody_gets_is_in_the_store(store: Store) -> None:
    shop = Shop(store, 1)
    for task in shop.give(4):
        record = task.future.result(20)
        assert RunBooks(store, shop.row).known(task.job.key) == record
    assert shop.budget.spent.metric_calls == 4
    shop.work.close()


def test_a_store_that_takes_no_begin_fails_all_that_wait_and_runs_nothing(store: Store) -> None:
    shop = Shop(store, 1)
    blocker = sqlite3.connect(store.path, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    tasks = shop.give(3)
    assert {type(outcome) for outcome in outcomes(tasks)} == {StoreError}
    blocker.close()
    assert (shop.runner.ran, shop.budget.remaining.metric_calls) == ([], 100)
    assert all(isinstance(outcome, Record) for outcome in outcomes(shop.give(3)))
    shop.work.close()


def test_a_record_that_cannot_be_stored_is_handed_to_nobody(store: Store) -> None:
    shop = Shop(store, 1)
    shop.runner.go = threading.Event()
    (task,) = shop.give(1)
    store.writer.submit()
    blocker = sqlite3.connect(store.path, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    shop.runner.go.set()
    assert isinstance(outcomes([task])[0], StoreError)
    blocker.close()
    assert shop.in_flight() == ["key0"]
    shop.work.close()


def test_a_guard_that_stops_lets_no_further_one_begin(store: Store) -> None:
    shop = Shop(store, 1)
    shop.runner.fails = True
    found = outcomes(shop.give(40))
    assert [type(outcome) for outcome in found] == [Record] * 19 + [Stop] * 21
    assert len(shop.runner.ran) == shop.budget.spent.metric_calls == 20
    assert shop.budget.remaining.metric_calls == 80
    shop.work.close()


def test_closing_drops_what_waits_and_stores_what_is_under_way(store: Store) -> None:
    shop = Shop(store, 1)
    shop.runner.go = threading.Event()
    tasks = shop.give(3)
    store.writer.submit()
    closing = threading.Thread(target=shop.work.close)
    closing.start()
    assert isinstance(tasks[2].future.exception(20), Stop)
    shop.runner.go.set()
    closing.join(20)
    assert [type(outcome) for outcome in outcomes(tasks)] == [Record, Stop, Stop]
    assert (shop.in_flight(), shop.budget.remaining.metric_calls) == ([], 99)


def test_dropping_what_waits_leaves_what_is_under_way_and_what_comes_later(store: Store) -> None:
    shop = Shop(store, 1)
    shop.runner.go = threading.Event()
    tasks = shop.give(3)
    store.writer.submit()
    stop = Stop("budget_seconds")
    shop.work.drop_waiting(stop)
    assert [task.future.exception(0) for task in tasks[1:]] == [stop, stop]
    assert shop.budget.remaining.metric_calls == 99
    later = shop.give(2, first=3)
    shop.runner.go.set()
    assert [type(outcome) for outcome in outcomes([tasks[0], *later])] == [Record] * 3
    assert shop.runner.ran == ["0", "3", "4"]
    shop.work.close()


@pytest.mark.parametrize("executed", [True, False], ids=["inside score()", "in the target"])
def test_a_refusal_for_good_is_charged_alike_by_this_run_and_a_resumed_one(store: Store, executed: bool) -> None:
    shop = Shop(store, 1)
    fault = Fault("provider", "no such key", data={"permanent": True})
    shop.runner.refused = Record("v", "0", 0, "failed", "provider", fault=fault, metric_called=executed)
    (found,) = outcomes(shop.give(1))
    assert (found.reason, shop.runner.refused.refused_for_good) == ("provider", True)
    shop.work.close()
    assert shop.budget.spent.metric_calls == len(shop.in_flight()) == int(executed)
    assert shop.books.known("key0") is None
