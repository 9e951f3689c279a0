"""Executing evaluations once: served from the books, waited for while under way, or paid, run and stored."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol

from skynet.artifact import Artifact
from skynet.data.case import Case
from skynet.evaluation.amounts import Amounts
from skynet.evaluation.books import Books, CaseNames, evaluation_key
from skynet.evaluation.budget import Budget, BudgetSpent, Reservation
from skynet.evaluation.case_run import CaseRunner
from skynet.evaluation.guards import BrokenGuard, Stop
from skynet.evaluation.paid_work import Job, PaidWork, Task
from skynet.evaluation.ration import Ration
from skynet.evaluation.record import Record
from skynet.evaluation.rollout import Rollouts, See
from skynet.models.calls import current_place


class Purse(Protocol):
    """Where an evaluation's metric call is paid from: the free budget, or what was held for a pass."""

    def reserve_each(self, count: int, metric_calls: int = 0) -> list[Reservation]:
        """Set `metric_calls` aside for each of `count` evaluations, for all or for none."""
        ...

    def reserve(
        self, metric_calls: int = 0, usd: float | None = 0.0, tokens: int = 0, role: str | None = None
    ) -> Reservation:
        """Set an amount aside for one model call."""
        ...


# The purse of the evaluation that this thread works for; the gateway's reservations are drawn from it too.
current_purse: contextvars.ContextVar[Purse | None] = contextvars.ContextVar("current_purse", default=None)


@dataclass(frozen=True, slots=True)
class Batch:
    """The records of a batch in the order asked for, and how many metric calls of theirs this attempt saw first: a
    replay counts what it is served as the first attempt counted what it paid."""

    records: list[Record]
    paid: int


class Execution:
    """Executes evaluations for all doors of a run. `scope` names everything that results depend on besides the case.

    `concurrency` of them run at a time; `ahead` more may be begun, which then wait for a place at their model.
    """

    def __init__(
        self,
        runner: CaseRunner,
        books: Books,
        budget: Budget,
        names: CaseNames,
        *,
        scope: str,
        concurrency: int,
        ahead: int = 0,
        repeats: int,
        broken: BrokenGuard,
        ration: Ration,
        cancel: threading.Event,
        on_done: Callable[[str], None] = lambda key: None,
    ) -> None:
        self._runner = runner
        self._books = books
        self._budget = budget
        self._names = names
        self.scope = scope
        self._repeats = repeats
        self._broken = broken
        self._ration = ration
        self._on_done = on_done
        self._cancel = cancel
        self._work = PaidWork(
            runner, books, budget,
            concurrency=concurrency, ahead=ahead, broken=broken, cancel=cancel, on_done=on_done,
        )  # fmt: skip
        self._lock = threading.Lock()
        self._attempts: dict[tuple[str, str, int], int] = {}

    def run(
        self,
        pairs: Sequence[tuple[Artifact, Case]],
        split: str,
        purse: Purse | None = None,
        repeats: int | None = None,
    ) -> Batch:
        """Execute each artifact on its case, `repeats` times (the run's number when left out), begun in this order.

        Raises Stop; what was paid by then is stored.
        """
        numbers = range(self._repeats if repeats is None else repeats)
        jobs = [self._job(artifact, case, number, split) for artifact, case in pairs for number in numbers]
        futures = self._start(jobs, purse or self._budget)
        stop: BaseException | None = None
        records: list[Record] = []
        for future in futures:
            try:
                records.append(future.result())
            except KeyboardInterrupt:  # it struck this thread: nobody waits any longer
                raise
            except BaseException as error:  # noqa: BLE001 - raised below, when everything under way has ended
                stop = stop or error
        if stop is not None:
            raise stop
        for job, record in zip(jobs, records, strict=True):
            if record.failure == "provider":  # told once; the next request asks the provider anew
                self._next_attempt(job)
        called = [record.metric_called for record in records]
        first = [self._ration.count(job.key, its) for job, its in zip(jobs, called, strict=True)]
        return Batch(records, sum(new and its for new, its in zip(first, called, strict=True)))

    def run_one(
        self, artifact: Artifact, case: Case, repetition: int, split: str, purse: Purse | None = None
    ) -> Record:
        """Execute one repetition of one case. Raises Stop."""
        job = self._job(artifact, case, repetition, split)
        (future,) = self._start([job], purse or self._budget)
        record = future.result()
        self._ration.count(job.key, record.metric_called)
        return record

    def known(self, artifact: Artifact, case: Case) -> list[Record]:
        """Return the records of all repetitions; none when one of them was not executed yet."""
        keys = [self._job(artifact, case, number, "").key for number in range(self._repeats)]
        found = [record for key in keys if (record := self._books.known(key)) is not None]
        return found if len(found) == self._repeats else []

    def retry(self, artifact: Artifact, case: Case, repetition: int) -> None:
        """Have the next request for this evaluation executed anew; the failed one stays in the books."""
        self._next_attempt(self._job(artifact, case, repetition, ""))

    def _job(self, artifact: Artifact, case: Case, repetition: int, split: str) -> Job:
        place = (artifact.id, case.id, repetition)
        attempt = self._attempts.get(place, 0)
        key = evaluation_key(self.scope, artifact.id, self._names[case.id], repetition, 0, attempt)
        return Job(artifact, case, repetition, split, key)

    def _next_attempt(self, job: Job) -> None:
        place = (job.artifact.id, job.case.id, job.repetition)
        with self._lock:
            self._attempts[place] = self._attempts.get(place, 0) + 1

    def _start(self, jobs: Sequence[Job], purse: Purse) -> list[Future[Record]]:
        with self._lock:
            futures = {job.key: future for job in jobs if (future := self._found(job)) is not None}
            new = list({job.key: job for job in jobs if job.key not in futures}.values())
            paid = self._reserve(new, purse)
            tasks = [Task(job, each, _context(job, purse)) for job, each in zip(new, paid, strict=True)]
            self._work.enter(tasks)
        self._work.begin()
        futures |= {task.job.key: task.future for task in tasks}
        return [futures[job.key] for job in jobs]

    def _found(self, job: Job) -> Future[Record] | None:
        under_way = self._work.find(job.key)
        if under_way is not None:
            return under_way
        record = self._books.known(job.key)
        if record is None:
            return None
        done: Future[Record] = Future()
        done.set_result(record)
        return done

    def _reserve(self, jobs: Sequence[Job], purse: Purse) -> list[Reservation]:
        if not jobs:
            return []
        if self._cancel.is_set():
            raise Stop("cancelled")
        try:
            return purse.reserve_each(len(jobs), metric_calls=1)
        except BudgetSpent as spent:
            raise Stop(spent.reason, str(spent)) from None

    def rollouts(self, see: See) -> Rollouts:
        """Return the door for runs that an engine makes itself, on the same books and budget."""
        return Rollouts(
            self._runner,
            self._books,
            self._budget,
            self._names,
            scope=self.scope,
            seed=self._runner.seed,
            ration=self._ration,
            cancel=self._cancel,
            see=see,
            done=self._rolled_out,
        )

    def _rolled_out(self, key: str, record: Record | None) -> None:
        self._on_done(key)
        if record is not None:
            self._broken.look(record)

    @property
    def spent(self) -> Amounts:
        """What the run has spent by now."""
        return self._budget.spent

    def drop_waiting(self, stop: Stop) -> None:
        """Fail with `stop` what was asked for and not begun; what is under way ends, what is asked for later runs."""
        self._work.drop_waiting(stop)

    def close(self) -> None:
        """Begin nothing any more, wait for what is under way, and end the threads."""
        self._work.close()


def _context(job: Job, purse: Purse) -> contextvars.Context:
    """Return the caller's context for the thread that does the job."""
    context = contextvars.copy_context()
    context.run(current_purse.set, purse)
    context.run(current_place.set, job.key)
    return context
