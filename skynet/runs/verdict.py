"""The verdict: start and best on the sealed test cases, once, interleaved case by case."""

from __future__ import annotations

from collections.abc import Sequence
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


def affordable(test: Sequence[Case], seed: int, calls_a_case: int, left: int | None) -> list[Case]:
    """Return the test cases that `left` metric calls pay for, all or the first ones, in seeded order."""
    count = len(test) if left is None else left // calls_a_case
    return seeded_order(test, [f"verdict:{case.id}" for case in test], seed)[:count]


def sealed_pass(
    execution: Execution,
    start: Artifact,
    best: Artifact | None,
    cases: Sequence[Case],
    purse: Purse,
    failure_value: float,
) -> Passes:
    """Run start and best on the cases, or on the first ones where the budget does not last.

    Raises VerdictFailed, or a stop of the run.
    """
    versions = [start] if best is None else [start, best]
    pairs = [(version, case) for case in cases for version in versions]
    try:
        records = execution.run(pairs, "test", purse).records
    except Stop as stop:
        records = _paid_for(execution, versions, cases)
        if not records or not stop.reason.startswith("budget_"):
            raise
    records, failed = _again(execution, records, pairs, purse)
    lowest = min([failure_value, *(record.score for record in records if record.score is not None)])
    passes = [
        SealedPass(version.id, tuple(record for record in records if record.version == version.id), lowest)
        for version in versions
    ]
    both = (passes[0], passes[1] if best is not None else None)
    if failed:
        raise VerdictFailed(failed, both)
    return both


def _paid_for(execution: Execution, versions: Sequence[Artifact], cases: Sequence[Case]) -> list[Record]:
    """Return the records of the first cases that every version was run on."""
    records: list[Record] = []
    for case in cases:
        found = [execution.known(version, case) for version in versions]
        if not all(found):
            break
        records += [record for of_version in found for record in of_version]
    return records


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
