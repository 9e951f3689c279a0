"""Where each version stands on val, and which is best: pure bookkeeping over records."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from skynet.evaluation.record import Record
from skynet.metric.contract import declared_range
from skynet.summary.aggregate import mean_of
from skynet.summary.coverage import Coverage, count_coverage


@dataclass(slots=True)
class Standing:
    """One version's val evaluations: a value a case where it was measured (a target failure counts), else None."""

    version: str
    values: dict[str, float | None] = field(default_factory=dict)
    outcomes: dict[str, dict[int, Record]] = field(default_factory=dict)  # by case and repetition

    def records(self) -> list[Record]:
        """Return all of its val records."""
        return [record for case in self.outcomes.values() for record in case.values()]

    @property
    def measured(self) -> bool:
        """Whether the metric gave it any score."""
        return any(record.score is not None for record in self.records())

    def coverage(self) -> Coverage:
        """Return how many of its evaluations were measured."""
        return count_coverage((record.status == "ok", record.failure) for record in self.records())

    def mean(self, cases: Iterable[str] | None = None) -> float | None:
        """Return the mean over its measured cases, or over those of `cases`; None when there is none."""
        names = self.values if cases is None else cases
        measured = [value for case in names if (value := self.values.get(case)) is not None]
        return mean_of(measured) if measured else None


class Standings:
    """All versions that were tried on the whole of val, in the order in which they were completed.

    `repeats`: a version was tried on a case when each of so many repetitions was. `failure_score` is None until it is
    fixed. A target failure counts as it, but never above the lowest score that was measured in the run.
    """

    def __init__(self, val: Sequence[str], failure_score: float | None, repeats: int = 1) -> None:
        self._val = tuple(val)
        self._repeats = repeats
        self._lock = threading.RLock()
        self._standings: dict[str, Standing] = {}
        self._complete: list[str] = []
        self._lowest: float | None = None
        self._highest: float | None = None
        self._declared: float | None = None
        self._best: str | None = None
        self._valued_with: float | None = None  # what a failure counts as in the standings' values
        self.failure_score = failure_score

    def saw(self, records: Iterable[Record]) -> None:
        """Take note of the scores of any records, of whatever split."""
        with self._lock:
            for record in records:
                if record.score is not None:
                    self._lowest = record.score if self._lowest is None else min(self._lowest, record.score)
                    self._highest = record.score if self._highest is None else max(self._highest, record.score)
                if (bounds := declared_range(record.side_info)) is not None:
                    self._declared = bounds[1] if self._declared is None else max(self._declared, bounds[1])

    @property
    def highest(self) -> float | None:
        """The highest score measured so far."""
        return self._highest

    @property
    def declared_maximum(self) -> float | None:
        """The highest score that the metric's declared range allows; None when it declares none."""
        return self._declared

    def failure_value(self) -> float:
        """Return what a failure counts as now."""
        fixed = 0.0 if self.failure_score is None else self.failure_score
        return fixed if self._lowest is None else min(fixed, self._lowest)

    def fix_failure_score(self, start: Iterable[Record]) -> float:
        """Fix the failure score by the start's val pass, unless the spec gave one; return it."""
        if self.failure_score is None:
            scores = [record.score for record in start if record.score is not None]
            self.failure_score = min([0.0, *scores])
        return self.failure_score

    def add(self, version: str, records: Iterable[Record]) -> bool:
        """Enter val records; a later one of the same case and repetition replaces the earlier (a provider's failure,
        tried again). Return whether they made this version the best one."""
        with self._lock:
            standing = self._standings.setdefault(version, Standing(version))
            for record in records:
                standing.outcomes.setdefault(record.case, {})[record.repetition] = record
                standing.values[record.case] = self._value(standing.outcomes[record.case].values())
            before, measured_late = self._best, version in self._complete
            completed = not measured_late and self._tried_on_all(standing)
            if completed:
                self._complete.append(version)
            if self._value_anew() or measured_late:
                self._best = self._first_unbeaten()
            elif completed and (self._best is None or self._beats(standing, self._standings[self._best])):
                self._best = version
            return self._best == version != before

    def _value_anew(self) -> bool:
        """Count failures as they count now; return whether that is another value than before."""
        value = self.failure_value()
        if value == self._valued_with:
            return False
        self._valued_with = value
        for standing in self._standings.values():
            standing.values = {case: self._value(outcomes.values()) for case, outcomes in standing.outcomes.items()}
        return True

    def _first_unbeaten(self) -> str | None:
        best: str | None = None
        for version in self._complete:
            if best is None or self._beats(self._standings[version], self._standings[best]):
                best = version
        return best

    def _tried_on_all(self, standing: Standing) -> bool:
        if len(standing.outcomes) < len(self._val):
            return False
        return all(len(repetitions) >= self._repeats for repetitions in standing.outcomes.values())

    def _value(self, records: Iterable[Record]) -> float | None:
        values = [
            self.failure_value() if record.failure == "target" else record.score
            for record in records
            if record.failure == "target" or record.score is not None
        ]
        known = [value for value in values if value is not None]
        return mean_of(known) if known else None

    def _beats(self, challenger: Standing, incumbent: Standing) -> bool:
        if not challenger.coverage().keeps_up_with(incumbent.coverage()):
            return False
        if not incumbent.measured:  # failures of its target count, but they are no reason to stay with it
            return challenger.measured
        shared = [
            case
            for case in self._val
            if challenger.values.get(case) is not None and incumbent.values.get(case) is not None
        ]
        ours, theirs = challenger.mean(shared), incumbent.mean(shared)
        return ours is not None and theirs is not None and ours > theirs

    def best(self) -> str | None:
        """Return the best complete version, every failure counted as it counts now."""
        with self._lock:
            if self._value_anew():
                self._best = self._first_unbeaten()
            return self._best

    def of(self, version: str) -> Standing | None:
        """Return one version's standing by now, None when it has no val evaluation."""
        with self._lock:
            if self._value_anew():
                self._best = self._first_unbeaten()
            return self._standings.get(version)

    @property
    def complete(self) -> tuple[str, ...]:
        """The versions that were tried on every val case."""
        with self._lock:
            return tuple(self._complete)
