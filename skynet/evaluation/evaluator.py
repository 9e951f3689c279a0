"""The doors of a search: versions are proposed and evaluated here, and nowhere else."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from skynet.artifact import Artifact, Content, Kind
from skynet.data.case import Case
from skynet.engine import Evaluation, LaneConverged, Rejected, TaskCase, Version, merge
from skynet.evaluation.amounts import Amounts
from skynet.evaluation.books import Books
from skynet.evaluation.execution import Execution
from skynet.evaluation.guards import IdleGuard, Step, Stop
from skynet.evaluation.ration import Ration
from skynet.evaluation.record import Record
from skynet.evaluation.rollout import HostRollout
from skynet.evaluation.standings import Standings
from skynet.summary.aggregate import mean_of

ContentCheck = Callable[[Content], str | None]
REPLY_CHARACTERS = 400  # of a reply that was not taken, in its event


@dataclass(frozen=True, slots=True)
class Splits:
    """The cases that a search may see, by id; test is not among them."""

    train: Mapping[str, Case]
    val: Mapping[str, Case]

    def find(self, case: str) -> tuple[Case, str]:
        """Return the case and its split; a case of both (val is train) counts as val. Raises KeyError."""
        if case in self.val:
            return self.val[case], "val"
        return self.train[case], "train"


class VersionBook:
    """The versions of a run by id, and the rules by which a proposal becomes one."""

    def __init__(self, kind: Kind, books: Books, check: ContentCheck, spent: Callable[[], Amounts]) -> None:
        self.kind = kind
        self._spent = spent
        self._books = books
        self._check = check
        self._lock = threading.Lock()
        self._versions: dict[str, Version] = {}
        self._being_stored: dict[str, Future[None]] = {}
        self.rejections: list[tuple[str | None, str]] = []  # the version, None of a reply that is none, and the reason

    def start(self, artifact: Artifact) -> Version:
        """Enter the start version, durable on return."""
        version = self._add(Version(artifact, None, "the start version"))
        self.wait_stored(version.id)
        return version

    def propose(self, content: Content, parent: Version | None, note: str) -> Version:
        """Enter a proposal. Raises Rejected with the reason when it cannot or need not be evaluated."""
        artifact = Artifact(self.kind, content)
        reason = self._refusal(artifact, parent)
        if reason is not None:
            self.reject(reason, artifact.id)
            raise Rejected(reason)
        return self._add(Version(artifact, None if parent is None else parent.id, note))

    def reject(self, reason: str, version: str | None = None, **details: Any) -> None:
        """Enter what was not taken. `version` is the content's id, where it has come to a content."""
        with self._lock:
            self.rejections.append((version, reason))
            number = len(self.rejections)
        self._books.event("rejected", f"rejected:{number}", version=version, reason=reason, **details)

    def _refusal(self, artifact: Artifact, parent: Version | None) -> str | None:
        if artifact.blank:
            return "it is empty"
        if parent is not None and artifact.id == parent.id:
            return "it is identical to the version it came from"
        if artifact.id in self._versions:
            return f"it is identical to version {artifact.id}, which was evaluated before"
        return self._check(artifact.content)

    def _add(self, version: Version) -> Version:
        stored: Future[None] = Future()
        with self._lock:
            known = self._versions.setdefault(version.id, version)
            self._being_stored[version.id] = stored

        def then(error: BaseException | None) -> None:
            if error is None:
                stored.set_result(None)
            else:
                stored.set_exception(error)

        try:
            self._books.add_version(version.artifact, version.parent, version.note, self._spent(), then)
        except BaseException as error:
            then(error)
            raise
        return known

    def wait_stored(self, version: str) -> None:
        """Wait until the version is in the books: before anything is handed out that is known of it.

        Raises the error of the store. It was put into the store's one queue before whatever it was evaluated by.
        """
        with self._lock:
            stored = self._being_stored.get(version)
        if stored is not None:
            stored.result()
            with self._lock:
                self._being_stored.pop(version, None)

    def all(self) -> list[Version]:
        """Return the versions in the order in which they came; none is on its way to the books any more."""
        with self._lock:
            versions, under_way = list(self._versions.values()), list(self._being_stored.values())
        wait(under_way)
        return versions

    def __contains__(self, version: str) -> bool:
        return version in self._versions

    def __len__(self) -> int:
        return len(self._versions)

    def __getitem__(self, version: str) -> Version:
        return self._versions[version]


class Evaluator:
    """The doors as one engine sees them. Once closed they stay closed: every call raises the stop again."""

    def __init__(
        self,
        execution: Execution,
        versions: VersionBook,
        standings: Standings,
        splits: Splits,
        ration: Ration,
        books: Books,
        idle: IdleGuard,
        *,
        feedback_limit: int,
        watch: Callable[[Mapping[str, Any]], None] = lambda change: None,
    ) -> None:
        self._execution = execution
        self._versions = versions
        self._standings = standings
        self._splits = splits
        self._ration = ration
        self._books = books
        self._idle = idle
        self._feedback_limit = feedback_limit
        self._watch = watch
        self._closed: Stop | None = None
        self._lane: str | None = None
        self._failed: set[tuple[str, int]] = set()  # the contents and occurrences whose failed runs were a step
        self.notes: list[str] = []
        self._rollouts = execution.rollouts(self._see_rollout)

    @property
    def remaining(self) -> int:
        """Metric calls that may still be spent; a large number when the budget does not count them."""
        return self._ration.remaining

    def close(self, stop: Stop) -> None:
        """Close the doors for good. What was asked for at them and not begun fails with the stop, so that it does not
        stand before the verdict's work."""
        self._closed = self._closed or stop
        self._execution.drop_waiting(self._closed)

    def _open(self) -> None:
        if self._closed is not None:
            raise self._closed

    def _step(self, kind: Step) -> None:
        try:
            self._idle.step(kind)
        except Stop as stop:
            if self._lane is None:
                raise
            raise LaneConverged(str(stop)) from None

    @contextmanager
    def lane(self, name: str) -> Iterator[None]:
        """Enter the work of another engine: standing still inside ends only that."""
        self._open()
        before, self._lane = self._lane, name
        self._idle.reset()
        self._books.event("lane", f"lane:{name}", reason=name)
        self._watch({"lane": name})
        try:
            yield
        finally:
            self._lane = before
            self._idle.reset()

    def note(self, text: str) -> None:
        """Take a sentence about the search into the events and the report."""
        self.notes.append(text)
        self._books.event("lane", f"note:{text}", reason=text)

    def propose(self, content: Content, parent: Version | None, note: str = "") -> Version:
        """Put a content forward as a candidate. Raises Rejected, or the stop of the run."""
        self._open()
        try:
            version = self._versions.propose(content, parent, note)
        except Rejected:
            self._step("rejected")
            raise
        self._step("taken")
        return version

    def reject(self, reply: str, reason: str) -> None:
        """Enter a reply that cannot become a content. Raises the stop of the run."""
        self._open()
        self._versions.reject(reason, reply=reply[:REPLY_CHARACTERS])
        self._step("rejected")

    def evaluate(self, version: Version, cases: Sequence[TaskCase]) -> list[Evaluation]:
        """Evaluate a version that was put forward. Raises the stop of the run."""
        self._open()
        try:
            artifact = self._versions[version.id].artifact
            found = [self._splits.find(case.id) for case in cases]
        except KeyError as error:
            raise ValueError(f"{error} was not put forward with propose(), or is no case of this task") from None
        records = self._records(artifact, found)
        return self._seen(records, [split for _, split in found])

    @contextmanager
    def rollout(
        self, content: Version | Content, case: TaskCase, occurrence: int = 0, repetition: int = 0
    ) -> Iterator[HostRollout]:
        """Clock and score a run that the engine makes itself; a content that is no version is a probe.

        Occurrence 0 is the version's own run, which counts for its standing once each repetition was made; further
        ones are samples, which do not count.
        """
        self._open()
        artifact = content.artifact if isinstance(content, Version) else Artifact(self._versions.kind, content)
        own, split = self._splits.find(case.id)
        rollout: HostRollout | None = None
        raised: Exception | None = None
        new = scored = False
        try:
            with self._rollouts.open(artifact, own, split, occurrence, repetition) as rollout:
                try:
                    yield rollout
                except Exception as error:
                    raised = error
                    raise
        except Exception as error:
            if error is not raised:  # the host's own: a store that takes nothing more, for example
                raise
        finally:  # a program that raised was an evaluation too
            if rollout is not None and rollout.record is not None:
                new, scored = rollout.is_new(), rollout.record.metric_called
                if occurrence == 0 and artifact.id in self._versions:
                    self._enter(artifact.id, [rollout.record], split)
            if new and scored:
                self._idle.paid()
        if repetition == 0:  # the repetitions of one run are one step
            self._step_of_run((artifact.id, occurrence), new, scored)
        if raised is not None:
            raise raised

    def _step_of_run(self, its: tuple[str, int], new: bool, scored: bool) -> None:
        """Count what a run was to the idle guard: a content's runs that fail are one step together, as in a batch."""
        if not new:
            self._step("served")
        elif not scored and its not in self._failed:
            self._failed.add(its)
            self._step("failed")

    def _see_rollout(self, record: Record, split: str) -> Evaluation:
        failure = self._standings.failure_value()
        return record.seen(split, _value(record, failure, failure), self._feedback_limit)

    def _records(self, artifact: Artifact, found: Sequence[tuple[Case, str]]) -> list[list[Record]]:
        """Return the records of each case, in the order of the cases."""
        by_case: dict[str, list[Record]] = {}
        paid, scored = 0, False
        for split in ("val", "train"):
            cases = list({case.id: case for case, its in found if its == split}.values())
            if not cases:
                continue
            self._open()  # they may have been closed during the batch before
            batch = self._execution.run([(artifact, case) for case in cases], split)
            paid += batch.paid
            scored = scored or any(record.metric_called for record in batch.records)
            for record in batch.records:
                by_case.setdefault(record.case, []).append(record)
            self._enter(artifact.id, batch.records, split)
        if paid:
            self._idle.paid()
        else:
            self._step("served" if scored else "failed")
        return [by_case[case.id] for case, _ in found]

    def _enter(self, version: str, records: Sequence[Record], split: str) -> None:
        self._versions.wait_stored(version)
        self._standings.saw(records)
        self._watch({"last_feedback": records[-1].feedback})
        if split == "val" and self._standings.add(version, records):
            standing = self._standings.of(version)
            mean = None if standing is None else standing.mean()
            self._books.accepted(version, mean, self._execution.spent)

    def _seen(self, records: Sequence[Sequence[Record]], splits: Sequence[str]) -> list[Evaluation]:
        failure = self._standings.failure_value()
        measured = [record.score for case in records for record in case if record.score is not None]
        stand_in = mean_of(measured) if measured else failure
        return [
            merge([record.seen(split, _value(record, failure, stand_in), self._feedback_limit) for record in case])
            for case, split in zip(records, splits, strict=True)
        ]


def _value(record: Record, failure: float, stand_in: float) -> float:
    if record.score is not None:
        return record.score
    return stand_in if record.status == "unmeasured" or record.failure == "provider" else failure


def task_cases(cases: Mapping[str, Case]) -> tuple[TaskCase, ...]:
    """Return cases as an engine sees them."""
    return tuple(TaskCase(case.id, dict(case.input)) for case in cases.values())
