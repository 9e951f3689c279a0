"""The second door: a case that the engine runs itself, clocked, charged and scored like any other."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, Protocol

from skynet.artifact import Artifact
from skynet.data.case import Case
from skynet.engine import Evaluation
from skynet.evaluation.books import Books, CaseNames, evaluation_key
from skynet.evaluation.budget import Budget, BudgetSpent, Reservation
from skynet.evaluation.case_run import CaseRunner, ticket_for
from skynet.evaluation.guards import Stop
from skynet.evaluation.ration import Ration
from skynet.evaluation.record import Record
from skynet.models.calls import Reply, current_place
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
        self.provider_fault: Fault | None = None

    def add(self, reply: Reply) -> None:
        """Count one answered call."""
        with self._lock:
            self._replies.append(reply)

    def result(self, output: Any, trace: Any, seconds: float) -> TargetResult:
        """Return what the rollout measured; our waits are not in its time."""
        with self._lock:
            replies = list(self._replies)
        costs = [reply.cost_usd for reply in replies]
        waited = sum(reply.waited_ms for reply in replies)
        return TargetResult(
            output=output,
            trace=trace,
            elapsed_ms=max(0.0, seconds * 1000 - waited),
            cost_usd=None if None in costs else float(sum(cost or 0.0 for cost in costs)),
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


class HostRollout:
    """One rollout as the engine holds it. `evaluation` is there at once when the books already know it."""

    def __init__(
        self, rollouts: Rollouts, artifact: Artifact, case: Case, split: str, key: str, ration: Ration
    ) -> None:
        self._rollouts = rollouts
        self._artifact = artifact
        self._case = case
        self._split = split
        self.key = key
        self._ration = ration
        self.meter = Meter()
        self.begun = time.perf_counter()
        self.record: Record | None = None
        self.evaluation: Evaluation | None = None
        self.scoring = False  # still, where a stop struck in it: that metric call counts

    def is_new(self) -> bool:
        """Whether this attempt of the run sees the rollout for the first time."""
        return self._ration.count(self.key, self.record is not None and self.record.metric_called)

    def finish(self, output: Any, trace: Any = None, steps: Any = None) -> Evaluation:
        """Score the output; called once. One that cannot cross to the metric's worker is the version's failure."""
        fault = self.meter.provider_fault or _crossing_fault({"output": output, "trace": trace})
        if fault is not None:
            return self._fail(fault, steps)
        measured = self._measured(output, trace)
        self.scoring = True
        record = self._rollouts.score(self._artifact, self._case, measured)
        self.scoring = False
        return self._enter(record, steps)

    def fail(self, error: Exception, steps: Any = None) -> Evaluation:
        """Enter the run as failed, by the provider where one failed in it, else by the version; called once."""
        return self._fail(self.meter.provider_fault or fault_of(error, ""), steps)

    def _fail(self, fault: Fault, steps: Any) -> Evaluation:
        failed = self._rollouts.failed(self._artifact, self._case, replace(self._measured(None, None), fault=fault))
        return self._enter(failed, steps)

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
    """All rollouts of a run: journaled by version, case and occurrence; one under way is waited for."""

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
        self._attempts: dict[tuple[str, str, int], int] = {}

    @contextmanager
    def open(self, artifact: Artifact, case: Case, split: str, occurrence: int) -> Iterator[HostRollout]:
        """Yield a rollout; what leaves the block as an Exception is the version's failure."""
        place = (artifact.id, case.id, occurrence)
        key = evaluation_key(self._scope, artifact.id, self._names[case.id], 0, occurrence + 1, self._attempt(place))
        rollout = HostRollout(self, artifact, case, split, key, self._ration)
        known = self._claim(key)
        try:
            if known is not None:
                rollout.record, rollout.evaluation = known, self.seen(known, split)
                yield rollout
            else:
                yield from self._pay(rollout, artifact, case, split)
        finally:
            if rollout.record is not None and rollout.record.failure == "provider":
                self._next_attempt(place)  # told once; the next request asks the provider anew
            if known is None:
                with self._lock:
                    self._under_way.pop(key).set()
        if known is None:
            self._done(key, rollout.record)

    def _attempt(self, place: tuple[str, str, int]) -> int:
        with self._lock:
            return self._attempts.get(place, 0)

    def _next_attempt(self, place: tuple[str, str, int]) -> None:
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

    def _pay(self, rollout: HostRollout, artifact: Artifact, case: Case, split: str) -> Iterator[HostRollout]:
        reservation = self._reserve()
        columns = {"version": artifact.id, "case_id": case.id, "case_hash": case.content_hash, "repetition": 0}
        self._books.begin(rollout.key, columns | {"split": split})
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
        if record is None and rollout.scoring:
            reservation.settle(metric_calls=1)
            self._books.leave(rollout.key)
            return
        if record is None:
            reservation.release()
            self._books.cancel(rollout.key)
            return
        reservation.settle(metric_calls=int(record.metric_called))
        self._books.end(rollout.key, record, self._budget.spent.metric_calls)

    def score(self, artifact: Artifact, case: Case, measured: TargetResult) -> Record:
        """Score what a rollout returned. Lets a stop of the run pass."""
        return self._runner.score(self._ticket(artifact, case), measured)

    def failed(self, artifact: Artifact, case: Case, measured: TargetResult) -> Record:
        """Return the record of a rollout that failed with the fault in `measured`."""
        return self._runner.failed(self._ticket(artifact, case), measured)

    def _ticket(self, artifact: Artifact, case: Case) -> Ticket:
        return ticket_for(self._seed, artifact.id, case, 0, self._cancel)
