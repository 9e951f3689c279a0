"""The verdict: start and best on the sealed test cases, once, interleaved case by case."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from skynet.artifact import Artifact
from skynet.data.case import Case
from skynet.data.splits import seeded_order
from skynet.evaluation.execution import Execution, Purse
from skynet.evaluation.guards import Stop
from skynet.evaluation.record import Record
from skynet.summary.aggregate import mean_of
from skynet.summary.comparison import Comparison, compare
from skynet.summary.coverage import Coverage, count_coverage

EPSILON = 1e-9  # scores as close as this are the same


@dataclass(frozen=True, slots=True)
class SealedPass:
    """One version on the test cases. Unmeasured and provider failures are None, a target failure the failure score."""

    version: str
    records: tuple[Record, ...]
    failure_value: float

    @property
    def values(self) -> dict[str, float | None]:
        """The mean over the repetitions of each case."""
        by_case: dict[str, list[float]] = {record.case: [] for record in self.records}
        for record in self.records:
            value = self.failure_value if record.failure == "target" else record.score
            if value is not None:
                by_case[record.case].append(value)
        return {case: mean_of(values) if values else None for case, values in by_case.items()}

    @property
    def mean(self) -> float | None:
        """The mean over the measured cases."""
        known = [value for value in self.values.values() if value is not None]
        return mean_of(known) if known else None

    def coverage(self) -> Coverage:
        """Return how many evaluations were measured."""
        return count_coverage((record.status == "ok", record.failure) for record in self.records)


Passes = tuple[SealedPass, SealedPass | None]  # start and best


class VerdictFailed(Exception):
    """The metric failed twice on a test case; the text names case and cause. `passes` hold all that was measured."""

    def __init__(self, message: str, passes: Passes) -> None:
        super().__init__(message)
        self.passes = passes


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the test cases say. `best` is None when no version came out ahead of the start on val."""

    start: SealedPass
    best: SealedPass | None
    comparison: Comparison | None
    cases: int
    left_out: int = 0
    warnings: list[str] = field(default_factory=list)

    @property
    def rejected(self) -> str | None:
        """The version whose mean on test is below the start's; the start stays the best then."""
        if self.best is None or self.comparison is None or self.comparison.mean is None:
            return None
        return self.best.version if self.comparison.mean < 0 else None

    @property
    def changed(self) -> bool:
        """Whether the best version is another than the start."""
        return self.best is not None and self.rejected is None


def sealed_order(test: Sequence[Case], seed: int) -> list[Case]:
    """Return the test cases in the order in which a budget pays for them: seeded, whatever order the rows have."""
    return seeded_order(test, [f"verdict:{case.id}" for case in test], seed)


def sealed_pass(
    execution: Execution,
    start: Artifact,
    best: Artifact | None,
    cases: Sequence[Case],
    purse: Purse,
    failure_value: float,
    room: Callable[[], int],
) -> Passes:
    """Run start and best on the cases, as many at a time as there is `room` for, until there is none any more.

    Raises VerdictFailed, or a stop of the run.
    """
    versions = [start] if best is None else [start, best]
    records = _first_cases(execution, versions, cases, purse, room)
    records, failed = _again(execution, records, [(version, case) for case in cases for version in versions], purse)
    lowest = min([failure_value, *(record.score for record in records if record.score is not None)])
    passes = [
        SealedPass(version.id, tuple(record for record in records if record.version == version.id), lowest)
        for version in versions
    ]
    both = (passes[0], passes[1] if best is not None else None)
    if failed:
        raise VerdictFailed(failed, both)
    return both


def _first_cases(
    execution: Execution, versions: Sequence[Artifact], cases: Sequence[Case], purse: Purse, room: Callable[[], int]
) -> list[Record]:
    """Return the records of the cases that an earlier attempt paid, and of the first others that the budget pays for.

    A kill leaves gaps, and so does a stop inside a batch: what comes after a gap may have ended, and counts in every
    attempt. Raises the stop when it leaves no case at all.
    """
    records: list[Record] = []

    def run(chosen: Sequence[Case]) -> Stop | None:
        """Take in the cases; of those that the budget stopped, the ones that are paid. Return that stop."""
        pairs = [(version, case) for case in chosen for version in versions]
        try:
            records.extend(execution.run(pairs, "test", purse).records)
        except Stop as stop:
            if not stop.reason.startswith("budget_"):
                raise
            records.extend(record for case in chosen for record in _paid_for(execution, versions, case))
            return stop
        return None

    paid = {case.id for case in cases if _paid_for(execution, versions, case)}
    stopped = run([case for case in cases if case.id in paid])
    left = [case for case in cases if case.id not in paid]
    while stopped is None and (chosen := left[: room()]):
        stopped = run(chosen)
        left = left[len(chosen) :]
    if stopped is None:
        for case in left:  # there is room for no whole one, but a part of it may be paid
            stopped = run([case]) or stopped
    if stopped is not None and not records:
        raise stopped
    return _in_order(records, cases)


def _in_order(records: Sequence[Record], cases: Sequence[Case]) -> list[Record]:
    places = {case.id: place for place, case in enumerate(cases)}
    return sorted(records, key=lambda record: places[record.case])


def _paid_for(execution: Execution, versions: Sequence[Artifact], case: Case) -> list[Record]:
    """Return the records of a case that every version was run on; none of another."""
    found = [execution.known(version, case) for version in versions]
    return [record for of_version in found for record in of_version] if all(found) else []


def _again(
    execution: Execution, records: Sequence[Record], pairs: Sequence[tuple[Artifact, Case]], purse: Purse
) -> tuple[list[Record], str]:
    """Score once more where the metric failed; return all records, and the cause when it failed again."""
    by_place = {(artifact.id, case.id): (artifact, case) for artifact, case in pairs}
    settled = list(records)
    for number, record in enumerate(records):
        if record.failure != "metric":
            continue
        artifact, case = by_place[record.version, record.case]
        where = f"on test case {case.id} of version {artifact.id}: {record.fault}"
        execution.retry(artifact, case, record.repetition)
        try:
            again = settled[number] = execution.run_one(artifact, case, record.repetition, "test", purse)
        except Stop as stop:
            if not stop.reason.startswith("budget_"):
                raise
            return settled, f"the metric failed {where}, and it could not be tried once more: {stop}"
        if again.failure == "metric":
            return settled, f"the metric failed twice {where}"
    return settled, ""


def judge(
    start: SealedPass, best: SealedPass | None, *, span: float, seed: int, cases: int, left_out: int = 0
) -> Verdict:
    """Return the verdict on two sealed passes; `span` is the score's range."""
    comparison = None if best is None else compare(start.values, best.values, span=span, seed=seed)
    return Verdict(start, best, comparison, cases, left_out)


def span_of(passes: Passes, lowest: float, maximum: float, highest: float | None) -> float:
    """Return the score's range: from the lowest value to the maximum, or what was seen where that is unknown."""
    if maximum != float("inf"):
        return max(maximum - lowest, EPSILON)
    seen = [value for one in passes if one is not None for value in one.values.values() if value is not None]
    return max(max([*seen, lowest if highest is None else highest]) - lowest, EPSILON)
