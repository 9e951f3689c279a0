"""Paid evaluations under way: begun, run by a few threads, stored, and handed to those who wait for them."""

from __future__ import annotations

import contextvars
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

from skynet.artifact import Artifact
from skynet.data.case import Case
from skynet.errors import SkynetError
from skynet.evaluation.books import Books
from skynet.evaluation.budget import Budget, Reservation
from skynet.evaluation.case_run import CaseRunner
from skynet.evaluation.guards import BrokenGuard, Stop
from skynet.evaluation.record import Record


@dataclass(frozen=True, slots=True)
class Job:
    """One evaluation to execute."""

    artifact: Artifact
    case: Case
    repetition: int
    split: str
    key: str


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A job that is paid for, the context that it runs in, and what those who want its record wait for."""

    job: Job
    reservation: Reservation
    context: contextvars.Context
    future: Future[Record] = field(default_factory=Future)


class PaidWork:
    """Executes tasks, `concurrency` at a time, begun in the order in which they came. `ahead` more are begun meanwhile:
    they wait for a place at the model that all of them call, so that it never waits for the store.

    No thread waits for the store: a task goes to a thread when its begin is committed, its record goes to those who
    wait when its end is. What the two commits of neighbouring tasks share is one transaction.
    """

    def __init__(
        self,
        runner: CaseRunner,
        books: Books,
        budget: Budget,
        *,
        concurrency: int,
        ahead: int,
        broken: BrokenGuard,
        cancel: threading.Event,
        on_done: Callable[[str], None],
    ) -> None:
        self._runner = runner
        self._books = books
        self._budget = budget
        self._broken = broken
        self._cancel = cancel
        self._on_done = on_done
        self._threads = ThreadPoolExecutor(concurrency + ahead, thread_name_prefix="skynet-case")
        self._lock = threading.Lock()
        self._free = concurrency + ahead
        self._waiting: deque[Task] = deque()
        self._under_way: dict[str, Future[Record]] = {}
        self._stop: Stop | None = None  # from then on, what waits is not begun

    def find(self, key: str) -> Future[Record] | None:
        """Return what to wait for, when the evaluation is under way; afterwards the books know it."""
        return self._under_way.get(key)

    def enter(self, tasks: Sequence[Task]) -> None:
        """Put tasks under way; `find` sees them from now on."""
        with self._lock:
            self._under_way |= {task.job.key: task.future for task in tasks}
            self._waiting.extend(tasks)

    def begin(self) -> None:
        """Store that those start for which a thread is free, in one commit."""
        tasks = self._take()
        if not tasks:
            return
        try:
            self._books.begin_all(
                {task.job.key: _columns(task.job) for task in tasks}, lambda error: self._begun(tasks, error)
            )
        except SkynetError as error:
            self._begun(tasks, error)

    def drop_waiting(self, stop: Stop) -> None:
        """Fail with `stop` what waits and was not begun. What is under way ends, and what comes later is begun."""
        with self._lock:
            dropped = list(self._waiting)
            self._waiting.clear()
        for task in dropped:
            self._drop(task, stop)

    def _take(self) -> list[Task]:
        stopped: list[Task] = []
        with self._lock:
            stop = self._stop or (Stop("cancelled") if self._cancel.is_set() else None)
            if stop is not None:
                stopped = list(self._waiting)
                self._waiting.clear()
            tasks = [self._waiting.popleft() for _ in range(min(self._free, len(self._waiting)))]
            self._free -= len(tasks)
        for task in stopped:
            self._drop(task, stop or Stop("cancelled"))
        return tasks

    def _begun(self, tasks: Sequence[Task], error: BaseException | None) -> None:
        if error is None:
            for task in tasks:
                self._threads.submit(task.context.run, self._execute, task)
            return
        with self._lock:  # what waits would meet the same error
            lost = [*tasks, *self._waiting]
            self._waiting.clear()
            self._free += len(tasks)
        for task in lost:
            self._drop(task, error)

    def _drop(self, task: Task, error: BaseException) -> None:
        task.reservation.release()
        self._hand_out(task, error)

    def _execute(self, task: Task) -> None:
        try:
            self._store(task, self._run(task))
        except BaseException as error:  # noqa: BLE001 - raised in those who wait
            self._hand_out(task, error)
        with self._lock:
            self._free += 1
        self.begin()

    def _run(self, task: Task) -> Record:
        job = task.job
        try:
            if self._stop is not None or self._cancel.is_set():
                raise self._stop or Stop("cancelled")
            record = self._runner.run(job.artifact, job.case, job.repetition, self._cancel)
        except Stop as stop:
            self._give_up(task, stop.scoring)
            raise
        except BaseException:
            self._give_up(task, scoring=False)
            raise
        task.reservation.settle(metric_calls=int(record.metric_called))
        return record

    def _give_up(self, task: Task, scoring: bool) -> None:
        """Close a task that has no record: a metric call that was under way is charged, and stays in flight."""
        if scoring:
            task.reservation.settle(metric_calls=1)
            self._books.leave(task.job.key)
        else:
            task.reservation.release()
            self._books.cancel(task.job.key)

    def _store(self, task: Task, record: Record) -> None:
        key, spent = task.job.key, self._budget.spent.metric_calls
        if record.fault is None:
            self._books.end(key, record, spent, lambda error: self._hand_out(task, error or record))
            return
        if record.refused_for_good and record.metric_called:
            self._books.leave(key)  # as below, but `score()` was executed: a resumed run counts that call too
        elif record.refused_for_good:
            self._books.cancel(key)  # the run ends now; a resumed one asks the provider anew
        else:
            self._books.end(key, record, spent)
        self._hand_out(task, record)  # here, so that the guard has seen it before this thread's place is taken

    def _hand_out(self, task: Task, result: Record | BaseException) -> None:
        with self._lock:
            del self._under_way[task.job.key]
        self._on_done(task.job.key)
        if isinstance(result, Record):
            try:
                self._broken.look(result)
            except Stop as stop:
                result = self._stop = stop
        if isinstance(result, Record):
            task.future.set_result(result)
        else:
            task.future.set_exception(result)

    def close(self) -> None:
        """Begin nothing any more, wait for what is under way, and end the threads."""
        self._stop = self._stop or Stop("cancelled")
        self.begin()
        with self._lock:
            under_way = list(self._under_way.values())
        wait(under_way)
        self._threads.shutdown(wait=True)


def _columns(job: Job) -> dict[str, object]:
    return {
        "version": job.artifact.id,
        "case_id": job.case.id,
        "case_hash": job.case.content_hash,
        "repetition": job.repetition,
        "split": job.split,
    }
