"""The second door: a case that the engine runs itself, clocked, charged and scored like any other."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, Protocol

from skynet.artifact import Artifact
from skynet.data.case import Case
from skynet.engine import Evaluation
from skynet.evaluation.books import Books, CaseNames, evaluation_key
from skynet.evaluation.budget import Budget, BudgetSpent, Reservation
from skynet.evaluation.case_run import CaseRunner, metric_call_counts, ticket_for
from skynet.evaluation.guards import Stop
from skynet.evaluation.ration import Ration
from skynet.evaluation.record import Record
from skynet.models.calls import Reply, current_place
from skynet.models.gateway import ATTEMPT_SECONDS
from skynet.models.open_calls import OpenCalls
from skynet.target.base import TargetResult, Ticket
from skynet.workers.fault import Fault, fault_of
from skynet.workers.frames import Unsupported, pack


class Meter:
    """Counts the model calls made inside one rollout, from whatever thread carries its context.

    `provider_fault` is set once a provider failed: what the program makes of that is not its own doing.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._replies: list[Reply] = []
        self.open = OpenCalls()
        self.provider_fault: Fault | None = None

    def add(self, reply: Reply) -> None:
        """Count one answered call."""
        with self._lock:
            self._replies.append(reply)

    def result(self, output: Any, trace: Any, seconds: float) -> TargetResult:
        """Return what the rollout measured; our waits are not in its time. Waits for calls that it did not wait for."""
        all_ended = self.open.end(ATTEMPT_SECONDS)
        with self._lock:
            replies = list(self._replies)
        costs = [reply.cost_usd for reply in replies]
        waited = sum(reply.waited_ms for reply in replies)
        return TargetResult(
            output=output,
            trace=trace,
            elapsed_ms=max(0.0, seconds * 1000 - waited),
            cost_usd=None if None in costs or not all_ended else float(sum(cost or 0.0 for cost in costs)),
            model_calls=len(replies),
            prompt_tokens=sum(reply.prompt_tokens or 0 for reply in replies),
            completion_tokens=sum(reply.completion_tokens or 0 for reply in replies),
        )


class See(Protocol):
    """Turns a record into what an engine sees."""

    def __call__(self, record: Record, split: str) -> Evaluation:
        """Return the evaluation."""
        ...


current_meter: ContextVar[Meter | None] = ContextVar("current_meter", default=None)


Place = tuple[str, str, int, int]  # version, case, repetition, occurrence


class HostRollout:
    """One rollout as the engine holds it. `evaluation` is there at once when the books already know it."""

    def __init__(
        self, rollouts: Rollouts, artifact: Artifact, case: Case, repetition: int, split: str, key: str, ration: Ration
    ) -> None:
        self._rollouts = rollouts
        self._artifact = artifact
        self._case = case
        self._repetition = repetition
        self._split = split
        self.key = key
        self._ration = ration
        self.meter = Meter()
        self.begun = time.perf_counter()
        self.record: Record | None = None
        self.evaluation: Evaluation | None = None
        self.scored = False  # without a record: a stop struck in `score()`, and that metric call counts

    def is_new(self) -> bool:
        """Whether this attempt of the run sees the rollout for the first time."""
        return self._ration.count(self.key, self.record is not None and self.record.metric_called)

    def finish(self, output: Any, trace: Any = None, steps: Any = None) -> Evaluation:
        """Score the output; called once. One that cannot cross to the metric's worker is the version's failure."""
        fault = self.meter.provider_fault or _crossing_fault({"output": output, "trace": trace})
        if fault is not None:
            return self._fail(fault, steps)
        measured = self._measured(output, trace)
        try:
            record = self._rollouts.score(self._artifact, self._case, self._repetition, measured)
        except BaseException as error:
            self.scored = metric_call_counts(error)
            raise
        return self._enter(record, steps)

    def fail(self, error: Exception, steps: Any = None) -> Evaluation:
        """Enter the run as failed, by the provider where one failed in it, else by the version; called once."""
        return self._fail(self.meter.provider_fault or fault_of(error, ""), steps)

    def _fail(self, fault: Fault, steps: Any) -> Evaluation:
        measured = replace(self._measured(None, None), fault=fault)
        return self._enter(self._rollouts.failed(self._artifact, self._case, self._repetition, measured), steps)

    def _measured(self, output: Any, trace: Any) -> TargetResult:
        if self.record is not None:
            raise ValueError("the rollout was finished before, or the books already knew it")
        return self.meter.result(output, trace, time.perf_counter() - self.begun)

    def _enter(self, record: Record, steps: Any) -> Evaluation:
        self.record = replace(record, steps=steps)
        self.evaluation = self._rollouts.seen(self.record, self._split)
        return self.evaluation


def _crossing_fault(values: dict[str, Any]) -> Fault | None:
    try:
        pack(values)
    except Unsupported as fault:
        return Fault(kind="bad_output", type="Unsupported", message=str(fault))
    return None


class Rollouts:
    """All rollouts of a run: journaled by version, case, repetition and occurrence; one under way is waited for."""

    def __init__(
        self,
        runner: CaseRunner,
        books: Books,
        budget: Budget,
        names: CaseNames,
        *,
        scope: str,
        seed: int,
        ration: Ration,
        cancel: threading.Event,
        see: See,
        done: Callable[[str, Record | None], None],
    ) -> None:
        self._runner = runner
        self._books = books
        self._budget = budget
        self._names = names
        self._scope = scope
        self._seed = seed
        self._ration = ration
        self._cancel = cancel
        self.seen = see
        self._done = done
        self._lock = threading.Lock()
        self._under_way: dict[str, threading.Event] = {}
        self._attempts: dict[Place, int] = {}

    @contextmanager
    def open(
        self, artifact: Artifact, case: Case, split: str, occurrence: int, repetition: int
    ) -> Iterator[HostRollout]:
        """Yield a rollout; what leaves the block as an Exception is the version's failure.

        Raises Stop, instead of that too, when the run cannot go on.
        """
        place = (artifact.id, case.id, repetition, occurrence)
        name, attempt = self._names[case.id], self._attempt(place)
        key = evaluation_key(self._scope, artifact.id, name, repetition, occurrence + 1, attempt)
        rollout = HostRollout(self, artifact, case, repetition, split, key, self._ration)
        known = self._claim(key)
        try:
            if known is not None:
                rollout.record, rollout.evaluation = known, self.seen(known, split)
                yield rollout
            else:
                columns = {"version": artifact.id, "case_id": case.id, "case_hash": case.content_hash}
                yield from self._pay(rollout, columns | {"repetition": repetition, "split": split})
        finally:
            if rollout.record is not None and rollout.record.failure == "provider":
                self._next_attempt(place)  # told once; the next request asks the provider anew
            if known is None:
                self._end(key, rollout.record)

    def _end(self, key: str, record: Record | None) -> None:
        try:
            self._done(key, record)
        finally:
            with self._lock:
                self._under_way.pop(key).set()

    def _attempt(self, place: Place) -> int:
        with self._lock:
            return self._attempts.get(place, 0)

    def _next_attempt(self, place: Place) -> None:
        with self._lock:
            self._attempts[place] = self._attempts.get(place, 0) + 1

    def _claim(self, key: str) -> Record | None:
        """Return what the books know, waiting for a rollout under way; or None, and this one is under way now."""
        while True:
            with self._lock:
                known = self._books.known(key)
                event = self._under_way.get(key)
                if known is not None or event is None:
                    if known is None:
                        self._under_way[key] = threading.Event()
                    return known
            event.wait()

    def _pay(self, rollout: HostRollout, columns: Mapping[str, object]) -> Iterator[HostRollout]:
        reservation = self._reserve()
        self._books.begin(rollout.key, columns)
        tokens = current_place.set(rollout.key), current_meter.set(rollout.meter)
        try:
            yield rollout
        except Exception as error:
            if rollout.record is None:
                rollout.fail(error)
            raise
        finally:
            current_place.reset(tokens[0])
            current_meter.reset(tokens[1])
            self._settle(rollout, reservation)

    def _reserve(self) -> Reservation:
        if self._cancel.is_set():
            raise Stop("cancelled")
        try:
            return self._budget.reserve(metric_calls=1)
        except BudgetSpent as spent:
            raise Stop(spent.reason, str(spent)) from None

    def _settle(self, rollout: HostRollout, reservation: Reservation) -> None:
        record = rollout.record
        if record is None and rollout.scored:
            reservation.settle(metric_calls=1)
            self._books.leave(rollout.key)
            return
        if record is None:
            reservation.release()
            self._books.cancel(rollout.key)
            return
        reservation.settle(metric_calls=int(record.metric_called))
        self._books.end(rollout.key, record, self._budget.spent.metric_calls)

    def score(self, artifact: Artifact, case: Case, repetition: int, measured: TargetResult) -> Record:
        """Score what a rollout returned. Lets a stop of the run pass."""
        return self._runner.score(self._ticket(artifact, case, repetition), measured)

    def failed(self, artifact: Artifact, case: Case, repetition: int, measured: TargetResult) -> Record:
        """Return the record of a rollout that failed with the fault in `measured`."""
        return self._runner.failed(self._ticket(artifact, case, repetition), measured)

    def _ticket(self, artifact: Artifact, case: Case, repetition: int) -> Ticket:
        return ticket_for(self._seed, artifact.id, case, repetition, self._cancel)
