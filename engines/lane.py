"""One engine's share of a search: the doors as that engine sees them, counted, and closed when the share ends."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from skynet.engine import (
    Artifact,
    Content,
    Evaluation,
    LaneStop,
    Rejected,
    Rollout,
    SearchEvaluator,
    SearchTask,
    TaskCase,
    Version,
)

from .findings import EPSILON, Findings

REFUSALS = 8  # proposals in a row that were not taken: the engine has nothing new to put forward
UNPROVEN = 5  # times as patient before the lane's first own version was tried on all of val


class Lane:
    """A `SearchEvaluator` for one of several engines. Its doors raise LaneStop, whose text says why the lane ended.

    An evaluation is charged when the lane first asks for it, also where an earlier lane paid: a share buys the same
    work wherever the lane stands in the order. `share` is in metric calls, None for whatever the run has left.
    `patience`, in passes over val, is how long the lane goes on without a gain; None is for as long as its share
    lasts. A lane with `may_grow` that leads when its share is used up goes on with what the run has left. `host_fault`
    is what a door of the host raised, which is no fault of the engine.
    """

    def __init__(
        self,
        task: SearchTask,
        evaluator: SearchEvaluator,
        findings: Findings,
        share: int | None,
        *,
        patience: int | None = None,
        may_grow: bool = False,
    ) -> None:
        self._task = task
        self._evaluator = evaluator
        self._findings = findings
        self._share = share
        self._patience = None if patience is None else patience * len(task.val) * task.repeats
        self._may_grow = may_grow
        self._lock = threading.Lock()
        self._asked: set[Hashable] = set()
        self._own: set[str] = set()
        self._since_gain = 0
        self._refused = 0
        self._proven = False
        self._closed = ""
        self.host_fault: Exception | None = None
        self.charged = 0
        self.value = findings.start_value

    @property
    def remaining(self) -> int:
        """Metric calls that the lane may still spend."""
        left = self._evaluator.remaining
        return left if self._share is None else max(0, min(self._share - self.charged, left))

    def close(self, reason: str) -> None:
        """Close the doors for good, so that a straggler of the engine cannot spend what is another lane's."""
        self._closed = self._closed or reason

    def propose(self, content: Content, parent: Version | None, note: str = "") -> Version:
        """Put a content forward; one that an earlier lane put forward is taken again. Raises Rejected or LaneStop."""
        self._check_progress()
        if (known := self._known(Artifact(self._task.kind, content).id, parent)) is not None:
            return known
        try:
            with self._watching():
                version = self._evaluator.propose(content, parent, note)
        except Rejected:
            self._refused += 1
            self._check_progress()
            raise
        self._refused = 0
        self._own.add(version.id)
        self._findings.put_forward(version)
        return version

    def reject(self, reply: str, reason: str) -> None:
        """Enter a reply that cannot become a content. Raises LaneStop."""
        if self._closed:
            raise LaneStop(self._closed)
        self._refused += 1
        with self._watching():
            self._evaluator.reject(reply, reason)
        self._check_progress()

    def _known(self, name: str, parent: Version | None) -> Version | None:
        """Return a version of an earlier lane that this one puts forward for the first time."""
        given = {self._task.start.id} | ({parent.id} if parent else set())
        known = self._findings.version(name)
        if known is None or name in self._own or name in given:
            return None
        self._own.add(name)
        return known

    def evaluate(self, version: Version, cases: Sequence[TaskCase]) -> list[Evaluation]:
        """Evaluate a version within the share. Raises LaneStop when the batch does not fit; none of it is begun.

        What an engine's own runs of the version scored in an earlier lane stands for its evaluation here.
        """
        self._charge(version.id, [case.id for case in cases], self._task.repeats)
        if (kept := self._findings.kept(version.id, cases)) is not None:
            return kept
        with self._watching():
            evaluations = self._evaluator.evaluate(version, cases)
        self._enter(version.id, evaluations)
        return evaluations

    @contextmanager
    def rollout(
        self, content: Version | Content, case: TaskCase, occurrence: int = 0, repetition: int = 0
    ) -> Iterator[Rollout]:
        """Clock and score a run of the engine's own within the share. Raises LaneStop."""
        name = content.id if isinstance(content, Version) else Artifact(self._task.kind, content).id
        self._charge(name, [(case.id, occurrence, repetition)], 1)
        with self._evaluator.rollout(content, case, occurrence, repetition) as rollout:
            yield rollout
        if rollout.evaluation is None or occurrence:  # a sample does not count for the version's standing
            return
        if (whole := self._findings.keep(name, rollout.evaluation)) is not None:
            self._enter(name, [whole])

    @contextmanager
    def _watching(self) -> Iterator[None]:
        try:
            yield
        except Rejected:
            raise
        except Exception as error:
            self.host_fault = error
            raise

    def lane(self, name: str) -> AbstractContextManager[None]:
        """Enter the work of an engine inside this lane."""
        return self._evaluator.lane(name)

    def note(self, text: str) -> None:
        """Pass a sentence on to the user."""
        self._evaluator.note(text)

    def _check_progress(self) -> None:
        if self._closed:
            raise LaneStop(self._closed)
        if self._findings.perfect:
            raise LaneStop("the best version has the maximum on all of val")
        if self._patience is None:
            return
        if self._refused >= REFUSALS:
            raise LaneStop(f"{REFUSALS} proposals in a row were not taken")
        if self._since_gain >= self._patience * (1 if self._proven else UNPROVEN):
            raise LaneStop(f"{self._since_gain} metric calls brought no gain")

    def _charge(self, version: str, places: Sequence[Hashable], each: int) -> None:
        with self._lock:
            if self._closed:
                raise LaneStop(self._closed)
            new = {(version, place) for place in places} - self._asked
            cost = len(new) * each
            if self._share is not None and self.charged + cost > self._share:
                self._grow()
            self._asked |= new
            self.charged += cost
            if version != self._task.start.id:
                self._since_gain += cost

    def _grow(self) -> None:
        """Take what the run has left, or end: a share that is used up."""
        leads = self.value >= self._findings.value - EPSILON and self.value > self._findings.start_value
        if not (self._may_grow and leads):
            raise LaneStop("its share is used up")
        self._share = None
        self.note("The lane leads, so it goes on with what the run has left.")

    def _enter(self, name: str, evaluations: Sequence[Evaluation]) -> None:
        mean = self._findings.enter(name, evaluations)
        with self._lock:
            if mean is None or name not in self._own:
                return
            self._proven = True
            if mean > self.value + EPSILON:
                self.value, self._since_gain = mean, 0
