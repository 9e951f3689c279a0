"""The contract check through a run's books: its evaluations are the run's first rows, and nothing is paid twice."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Mapping
from typing import Any

from skynet.artifact import Artifact
from skynet.data.case import Case
from skynet.evaluation.budget import BudgetSpent, Reservation
from skynet.evaluation.case_run import metric_call_counts, score_output, ticket_for
from skynet.evaluation.check_project import measured_of
from skynet.evaluation.execution import Execution, Purse, current_purse
from skynet.evaluation.guards import Stop
from skynet.evaluation.project import Project
from skynet.evaluation.ration import Ration
from skynet.evaluation.record import Record
from skynet.evaluation.scoring import MetricResult, as_record, as_result
from skynet.models.calls import current_place
from skynet.runs.books import RunBooks
from skynet.workers.fault import Fault
from skynet.workers.frames import pack
from skynet.workers.worker import Outcome


class RunBench:
    """Runs and scores for the check, through the books. `splits` names the split of each sample case."""

    def __init__(
        self,
        project: Project,
        execution: Execution,
        books: RunBooks,
        purse: Purse,
        ration: Ration,
        splits: Mapping[str, str],
        cancel: threading.Event,
    ) -> None:
        self._project = project
        self._execution = execution
        self._books = books
        self._purse = purse
        self._ration = ration
        self._splits = splits
        self._cancel = cancel
        self.scored: list[str] = []  # the keys of outputs that were scored without a target call

    def load_metric(self) -> Outcome:
        """Load the metric into a worker."""
        return self._project.metric.load()

    def load_target(self) -> Fault | None:
        """Make the target ready; return why it cannot be."""
        result = self._project.target.load()
        return None if result is None else result.fault

    def evaluate(self, artifact: Artifact, case: Case) -> Record:
        """Run and score the artifact on the case, once whatever the run's repeats are."""
        return self._execution.run_one(artifact, case, 0, self._splits[case.id], self._purse)

    def score_output(self, case: Case, output: Any, like: Record | None, repetition: int) -> MetricResult:
        """Score an output that no version of the run made now; stored under the output itself."""
        version = f"output:{_digest(output)}"
        named = f"check|{self._execution.scope}|{version}|{case.content_hash}|{repetition}"
        key = hashlib.sha256(named.encode()).hexdigest()[:32]
        self.scored.append(key)
        known = self._books.known(key)
        if known is not None:
            self._ration.count(key, known.metric_called)
            return as_result(known)
        reservation = self._reserve()
        self._books.begin(
            key,
            {"version": version, "case_id": case.id, "case_hash": case.content_hash, "repetition": repetition,
             "split": "check"},
        )  # fmt: skip
        tokens = current_place.set(key), current_purse.set(self._purse)
        try:
            ticket = ticket_for(self._project.seed, version, case, repetition, self._cancel)
            measured = None if like is None else measured_of(like)
            result = score_output(self._project.metric, ticket, output, measured)
        except BaseException as error:
            self._give_up(key, reservation, metric_call_counts(error))
            raise
        finally:
            current_place.reset(tokens[0])
            current_purse.reset(tokens[1])
        reservation.settle(metric_calls=int(result.executed))
        self._ration.count(key, result.executed)
        self._books.end(key, as_record(result, version, case.id, repetition, output), 0)
        return result

    def _give_up(self, key: str, reservation: Reservation, scored: bool) -> None:
        if scored:
            reservation.settle(metric_calls=1)
            self._books.leave(key)
        else:
            reservation.release()
            self._books.cancel(key)

    def _reserve(self) -> Reservation:
        try:
            return self._purse.reserve_each(1, metric_calls=1)[0]
        except BudgetSpent as spent:
            raise Stop(spent.reason, str(spent)) from None


def _digest(output: Any) -> str:
    text = json.dumps(pack(output), sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:12]
