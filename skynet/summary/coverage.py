"""Coverage: on how many cases a version has a score that counts, and why it has none on the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal

Failure = Literal["target", "metric", "provider"]
State = Literal["scored", "missing", "failed"]
ALLOWED_POINTS_BEHIND = 5  # percentage points under the incumbent's coverage at which a version can still win


@dataclass(frozen=True, slots=True)
class Coverage:
    """Counts over evaluations. total = measured + unmeasured + metric_failures + provider_failures.

    A target's failure is an outcome of the version and counts as the failure score: it is among `measured`, and
    `target_failures` says how many of those there are. `unmeasured` is what the metric itself declared so.
    """

    total: int
    measured: int
    unmeasured: int
    target_failures: int
    metric_failures: int
    provider_failures: int

    @property
    def share(self) -> float | None:
        """Measured part of the total, 0 to 1; None when there was nothing to measure."""
        return self.measured / self.total if self.total else None

    def keeps_up_with(self, incumbent: Coverage) -> bool:
        """Whether this coverage is at most five points under the incumbent's, so that its version may win.

        Where nothing was tried, nothing was covered: a total of 0 counts as a coverage of 0.
        """
        own, its = max(self.total, 1), max(incumbent.total, 1)
        return 100 * (incumbent.measured * own - self.measured * its) <= ALLOWED_POINTS_BEHIND * own * its

    def to_json(self) -> dict[str, Any]:
        """Return the fields and `share` as strict JSON values."""
        return {**asdict(self), "share": self.share}


def count_coverage(outcomes: Iterable[tuple[bool, Failure | None]]) -> Coverage:
    """Count one (measured, failure) pair per evaluation; with a failure the first member does not matter."""
    kinds: Counter[str] = Counter()
    for measured, failure in outcomes:
        kinds[failure or ("measured" if measured else "unmeasured")] += 1
    return Coverage(
        total=kinds.total(),
        measured=kinds["measured"] + kinds["target"],
        unmeasured=kinds["unmeasured"],
        target_failures=kinds["target"],
        metric_failures=kinds["metric"],
        provider_failures=kinds["provider"],
    )


@dataclass(frozen=True, slots=True)
class OutputCoverage:
    """Counts over the trials that a named output applies to. total = scored + missing + failed.

    `missing` is an optional output that the metric left out; `failed` is a trial or a metric that failed.
    """

    total: int
    scored: int
    missing: int
    failed: int

    def to_json(self) -> dict[str, Any]:
        """Return the fields as strict JSON values."""
        return asdict(self)


def count_states(states: Iterable[State]) -> OutputCoverage:
    """Count one state per trial."""
    kinds = Counter(states)
    return OutputCoverage(kinds.total(), kinds["scored"], kinds["missing"], kinds["failed"])
