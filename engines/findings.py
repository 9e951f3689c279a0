"""What the lanes of one search found together: the versions they put forward and where each stands on val."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence

from skynet.engine import Evaluation, SearchTask, TaskCase, Version, merge

EPSILON = 1e-9


class Findings:
    """All versions of a search by id, and the best of those that were tried on the whole of val; thread-safe."""

    def __init__(self, task: SearchTask, start: Sequence[Evaluation]) -> None:
        self._val = {case.id for case in task.val}
        self._maximum = task.maximum
        self._lock = threading.Lock()
        self._versions: dict[str, Version] = {task.start.id: task.start}
        self._values: dict[str, dict[str, float]] = {}
        self._repeats = task.repeats
        self._own_runs: dict[tuple[str, str], dict[int, Evaluation]] = {}  # by version and case, then repetition
        self.best, self.value = task.start, -math.inf
        self.enter(task.start.id, start)
        self.start_value = self.value

    def put_forward(self, version: Version) -> None:
        """Take note of a version that a lane put forward."""
        with self._lock:
            self._versions.setdefault(version.id, version)

    def version(self, name: str) -> Version | None:
        """Return the version of this id, None when no lane has put it forward."""
        return self._versions.get(name)

    def enter(self, name: str, evaluations: Sequence[Evaluation]) -> float | None:
        """Enter evaluations of a version; return its mean on val once it was tried on all of it. Probes are no version.

        Of two equals the earlier is the best.
        """
        with self._lock:
            if name not in self._versions:
                return None
            values = self._values.setdefault(name, {})
            values |= {e.case: e.value for e in evaluations if e.case in self._val}
            if len(values) < len(self._val):
                return None
            mean = math.fsum(values.values()) / len(values)
            if mean > self.value + EPSILON:
                self.best, self.value = self._versions[name], mean
            return mean

    def keep(self, name: str, evaluation: Evaluation) -> Evaluation | None:
        """Keep the evaluation of a run that an engine made itself of a version; probes are never asked for again.

        Return what the case stands at, once each of its repetitions was run.
        """
        with self._lock:
            if name in self._versions:
                self._own_runs.setdefault((name, evaluation.case), {})[evaluation.repetition] = evaluation
            return self._whole(name, evaluation.case)

    def kept(self, name: str, cases: Sequence[TaskCase]) -> list[Evaluation] | None:
        """Return what such runs of a version scored, when every one of the cases had all of its repetitions."""
        with self._lock:
            found = [self._whole(name, case.id) for case in cases]
        known = [evaluation for evaluation in found if evaluation is not None]
        return known if len(known) == len(found) else None

    def _whole(self, name: str, case: str) -> Evaluation | None:
        runs = self._own_runs.get((name, case), {})
        return merge([runs[number] for number in sorted(runs)]) if len(runs) == self._repeats else None

    @property
    def perfect(self) -> bool:
        """Whether the best version has the maximum on every val case."""
        return self.value >= self._maximum - EPSILON
