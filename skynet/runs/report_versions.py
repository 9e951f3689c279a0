"""The report's versions: where each stands on val, on how much of it, and why one that is not the best is not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from skynet.engine import Version
from skynet.evaluation.record import Record
from skynet.evaluation.standings import Standing
from skynet.runs.events import Event
from skynet.runs.report.show import counted, score
from skynet.runs.runner import Runner
from skynet.runs.stored_evaluations import StoredEvaluation
from skynet.summary.aggregate import mean_of
from skynet.summary.coverage import Coverage


def version_rows(
    runner: Runner, evaluations: Sequence[StoredEvaluation], events: Sequence[Event]
) -> list[dict[str, Any]]:
    """Return one row for each version that was put forward, in their order."""
    versions = runner.versions.all() if runner.versions is not None else []
    names = {item.id: f"v{number}" for number, item in enumerate(versions)}
    by_version: dict[str, list[StoredEvaluation]] = {}
    for one in evaluations:
        by_version.setdefault(one.version, []).append(one)
    why = _Reasons(runner, by_version, names)
    calls = _Calls(events, {case.id for case in runner.project.dataset.val}, runner.project.spec.evaluation.repeats)
    return [_row(runner, item) | {"reason": why.of(item)} | calls.of(item.id) for item in versions]


def _row(runner: Runner, item: Version) -> dict[str, Any]:
    standing = runner.standings.of(item.id)
    return {
        "id": item.id,
        "parent": item.parent,
        "note": item.note,
        "kind": item.artifact.kind,
        "text": item.artifact.text,
        # A mean over a part of val would stand beside whole ones as if it could be compared with them.
        "val": standing.mean() if standing is not None and item.id in runner.standings.complete else None,
        "coverage": coverage_of(runner, standing),
        "status": _status(runner, item),
        "scores": {} if standing is None else means(standing.records()),
    }


def coverage_of(runner: Runner, standing: Standing | None) -> dict[str, Any]:
    """Return on how many of the val evaluations a version was measured, and what became of the others."""
    total = len(runner.project.dataset.val) * runner.project.spec.evaluation.repeats
    found = Coverage(0, 0, 0, 0, 0, 0) if standing is None else standing.coverage()
    return coverage_json(found, total)


def coverage_json(found: Coverage, total: int) -> dict[str, Any]:
    """Return a coverage of `total` evaluations, of which some may not have been tried."""
    counts = found.to_json()
    return {"total": total, "tried": counts.pop("total"), **{name: counts[name] for name in counts if name != "share"}}


def means(records: Iterable[Record]) -> dict[str, float]:
    """Return the mean of each named score."""
    values: dict[str, list[float]] = {}
    for record in records:
        for name, value in record.scores.items():
            values.setdefault(name, []).append(value)
    return {name: mean_of(found) for name, found in sorted(values.items())}


def _status(runner: Runner, item: Version) -> str:
    outcome = runner.outcome
    if outcome.verdict is not None and outcome.verdict.rejected == item.id:
        return "rejected"
    if outcome.best == item.id and outcome.start is not None and outcome.start.id != item.id:
        return "best"
    return "start" if outcome.start is not None and outcome.start.id == item.id else "candidate"


class _Calls:
    """How many metric calls were spent when a version was put forward, and when its mean on val was known."""

    def __init__(self, events: Sequence[Event], val: set[str], repeats: int) -> None:
        self._proposed: dict[str, int] = {}
        self._known: dict[str, int] = {}
        left: dict[str, dict[str, int]] = {}
        for event in events:
            if event.version is None:
                continue
            if event.kind == "proposed":
                self._proposed[event.version] = event.details["metric_calls"]
            elif event.kind == "accepted":  # as late as the curve has its step
                self._known[event.version] = event.details["metric_calls"]
            elif event.kind == "evaluated" and event.details["case"] in val:
                open_ones = left.setdefault(event.version, dict.fromkeys(val, repeats))
                open_ones[event.details["case"]] -= 1
                if event.version not in self._known and max(open_ones.values()) <= 0:
                    self._known[event.version] = event.details["metric_calls"]

    def of(self, version: str) -> dict[str, int | None]:
        return {"at_call": self._proposed.get(version), "val_at_call": self._known.get(version)}


@dataclass(frozen=True, slots=True)
class _Reasons:
    """Says why a version is not the best, where its mean on val does not say so itself."""

    runner: Runner
    evaluations: Mapping[str, Sequence[StoredEvaluation]]  # by version
    names: Mapping[str, str]

    def of(self, item: Version) -> str | None:
        """Return the reason in a few words, or None."""
        status, standing = _status(self.runner, item), self.runner.standings.of(item.id)
        if status in ("start", "best"):
            return None
        if status == "rejected":
            return "the best on val, but below the start on test"
        if standing is None or item.id not in self.runner.standings.complete:
            return self._dropped(item)
        return self._beaten(standing)

    def _beaten(self, standing: Standing) -> str | None:
        """Return why a version that was tried on all of val lost against the one that is best there."""
        best = self.runner.standings.of(self.runner.standings.best() or "")
        if best is None or best is standing:
            return None
        own, its = standing.coverage(), best.coverage()
        if not own.keeps_up_with(its):
            told = f"measured on {own.measured} of {_counted_val(own.total, self.runner)}, cannot win"
            return f"{told} against {self.names[best.version]}, measured on {its.measured}"
        mean, other = standing.mean(), best.mean()
        if mean is None or other is None or mean < other:
            return None
        if mean == other and own.measured == its.measured:
            return f"no better than {self.names[best.version]}, which came first"
        return f"not better than {self.names[best.version]} on the val cases that both measured"

    def _dropped(self, item: Version) -> str:
        """Return how far a version came that the engine did not try on all of val."""
        found = self.evaluations.get(item.id, ())
        if not found:
            return "never evaluated"
        parts = [f"evaluated on {_splits(found)} only"]
        failed = [one.failure for one in found if one.failure is not None]
        parts += [f"the {kind} failed on {failed.count(kind)}" for kind in dict.fromkeys(failed)]
        unmeasured = sum(one.failure is None and one.score is None for one in found)
        parts += [f"unmeasured on {unmeasured}"] if unmeasured else []
        if item.parent is not None:
            parts += self._against_parent(found, item.parent)
        return ", ".join(parts)

    def _against_parent(self, found: Sequence[StoredEvaluation], parent: str) -> list[str]:
        """Compare with the parent on the cases that both were evaluated on, as an engine sees the scores."""
        own, its = self._values(found), self._values(self.evaluations.get(parent, ()))
        shared = own.keys() & its.keys()
        if not shared:
            return []
        mean, other = (mean_of([mean_of(values[case]) for case in shared]) for values in (own, its))
        place = "there" if len(shared) == len(own) else f"on the {counted(len(shared), 'case')} that both have"
        if mean > other:
            return [f"scored {score(mean)} {place} ({self.names[parent]}: {score(other)})"]
        return [f"not better than {self.names[parent]} {place} ({score(mean)}, {score(other)})"]

    def _values(self, evaluations: Iterable[StoredEvaluation]) -> dict[str, list[float]]:
        values: dict[str, list[float]] = {}
        failure = self.runner.standings.failure_value()
        for one in evaluations:
            value = failure if one.failure in ("target", "metric") else one.score
            if value is not None:
                values.setdefault(one.case, []).append(value)
        return values


def _counted_val(total: int, runner: Runner) -> str:
    return counted(total, "val case" if runner.project.spec.evaluation.repeats == 1 else "val evaluation")


def _splits(found: Sequence[StoredEvaluation]) -> str:
    cases = {split: {one.case for one in found if one.split == split} for split in ("train", "val")}
    return " and ".join(counted(len(ids), f"{split} case") for split, ids in cases.items() if ids)
