"""The report's data: everything that a run can tell, gathered from its outcome and its books."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from skynet.artifact import diff
from skynet.engine import Version
from skynet.evaluation.record import Record
from skynet.models.ledger import Ledger
from skynet.runs.books import RunBooks
from skynet.runs.demonstrations import demonstrations
from skynet.runs.engines import package_of
from skynet.runs.events import Event
from skynet.runs.fingerprint import DISTRIBUTION
from skynet.runs.ledger_lines import ledger_lines
from skynet.runs.report_cases import case_rows
from skynet.runs.report_failures import failures_of
from skynet.runs.report_spending import budget_of, curve_of, lower_bound_notes
from skynet.runs.report_versions import coverage_json, coverage_of, means, version_rows
from skynet.runs.report_warnings import report_warnings, shared_cases
from skynet.runs.runner import Runner
from skynet.runs.store import RunRow, Store
from skynet.runs.stored_evaluations import stored_evaluations
from skynet.runs.verdict import SealedPass
from skynet.summary.aggregate import mean_of
from skynet.target.code import NOT_ISOLATED

SCHEMA = 1
_LAST_REJECTIONS = 5


@dataclass(frozen=True, slots=True)
class ReportSource:
    """What a report tells beside its runner: the run's row and store, the engine's options, the model calls."""

    row: RunRow
    store: Store
    options: Any
    ledger: Ledger


def report_of(source: ReportSource, runner: Runner, books: RunBooks) -> dict[str, Any]:
    """Return the report of a run that has ended."""
    outcome, project = runner.outcome, runner.project
    versions = runner.versions.all() if runner.versions is not None else []
    best = next((item for item in versions if item.id == outcome.best), None)
    against = _shown_best(runner, best)
    events, entries, seen = books.events.read(), source.ledger.entries(), _times_seen(source, runner)
    evaluations = stored_evaluations(source.store, source.row)
    failures, unknown = failures_of(evaluations), lower_bound_notes(runner, entries)
    return {
        "schema": SCHEMA,
        "run": source.row.id,
        "name": project.spec.name,
        "objective": project.spec.objective,
        "status": outcome.status,
        "finish_reason": outcome.finish_reason,
        "engine": {"name": runner.engine.name, **package_of(runner.engine.name), "options": _options(source.options)},
        "skynet_version": version(DISTRIBUTION),
        "started_at": source.row.started_at,
        "ended_at": time.time(),
        "seconds": runner.budget.active_seconds,
        "repeats": project.spec.evaluation.repeats,
        "changed": best is not None and outcome.start is not None and best.id != outcome.start.id,
        "rejected": None if outcome.verdict is None else outcome.verdict.rejected,
        "baseline": _side(runner, outcome.start, None if outcome.verdict is None else outcome.verdict.start),
        "best": _side(runner, best, _best_pass(runner)),
        "challenger": _side(runner, against, _challenger_pass(runner)),
        "difference": _difference(runner),
        "warnings": report_warnings(runner, best, seen, failures),
        "notes": outcome.notes + unknown,
        "versions": version_rows(runner, evaluations, events),
        "rejections": _rejections(runner),
        "last_rejections": _last_rejections(events),
        "failures": failures,
        "curve": curve_of(events, entries),
        "diff": _diff(outcome.start, against),
        "failure_score": runner.standings.failure_value() if runner.standings.complete else None,
        "cases": case_rows(runner, outcome.start, against),
        "named_scores": _named_scores(runner, outcome.start, against),
        "time": _times(runner, against),
        "cost": _costs(runner, against),
        "ledger": ledger_lines(entries),
        "budget": budget_of(runner, lower_bound=bool(unknown)),
        "split_sizes": _split_sizes(runner),
        "test_seen": seen,
        "data_warnings": list(project.dataset.warnings),
        "demonstrations": [] if best is None else demonstrations(best.artifact),
        "labels": bool(getattr(source.options, "labels", False)),
        "not_isolated": NOT_ISOLATED if project.spec.artifact.kind == "code" else None,
        "not_evaluated": _not_evaluated(runner),
        "error": outcome.message if outcome.status == "failed" else None,
        "check": {"stages": [] if outcome.check is None else outcome.check.to_json()["stages"]},
    }


def _diff(start: Version | None, best: Version | None) -> str:
    return "" if start is None or best is None else diff(start.artifact, best.artifact)


def _options(options: Any) -> dict[str, Any]:
    return dict(options.model_dump(mode="json")) if hasattr(options, "model_dump") else {}


def _side(runner: Runner, item: Version | None, sealed: SealedPass | None) -> dict[str, Any]:
    """Return a side's means and coverage. On test the means are over the cases that both sides measured."""
    standing = None if item is None else runner.standings.of(item.id)
    verdict = runner.outcome.verdict
    test, covered = None, None
    if sealed is not None and verdict is not None:
        values = sealed.values
        shared = [value for case in shared_cases(verdict) if (value := values[case]) is not None]
        test = mean_of(shared) if shared else None
        covered = coverage_json(sealed.coverage(), verdict.cases * runner.project.spec.evaluation.repeats)
    return {
        "version": None if item is None else item.id,
        "val": None if standing is None else standing.mean(),
        "test": test,
        "coverage": {"val": None if standing is None else coverage_of(runner, standing), "test": covered},
    }


def _best_pass(runner: Runner) -> SealedPass | None:
    verdict = runner.outcome.verdict
    if verdict is None:
        return None
    return verdict.best if verdict.changed else verdict.start


def _challenger_pass(runner: Runner) -> SealedPass | None:
    verdict = runner.outcome.verdict
    return None if verdict is None else verdict.best or verdict.start


def _difference(runner: Runner) -> dict[str, Any] | None:
    verdict = runner.outcome.verdict
    return None if verdict is None or verdict.comparison is None else verdict.comparison.to_json()


def _times_seen(source: ReportSource, runner: Runner) -> int:
    if runner.outcome.verdict is None:
        return 0
    return source.store.times_tested({case.content_hash for case in runner.project.dataset.test})


def _shown_best(runner: Runner, best: Version | None) -> Version | None:
    """Return the version shown beside the start: the best, or the challenger that the verdict rejected."""
    verdict = runner.outcome.verdict
    if verdict is not None and verdict.best is not None and runner.versions is not None:
        return runner.versions[verdict.best.version]
    return best


def _rejections(runner: Runner) -> list[dict[str, Any]]:
    reasons = Counter(reason for _, reason in runner.versions.rejections) if runner.versions is not None else Counter()
    return [{"reason": reason, "count": count} for reason, count in reasons.most_common()]


def _last_rejections(events: Sequence[Event]) -> list[dict[str, Any]]:
    """Return the proposals that were turned down last, with the metric calls spent by then."""
    spent = 0
    found = []
    for event in events:
        spent = max(spent, event.details.get("metric_calls", 0))
        if event.kind == "rejected":
            found.append({"version": event.version, "reason": event.reason, "at_call": spent})
    return found[-_LAST_REJECTIONS:]


def _records_of(runner: Runner, item: Version | None) -> list[Record]:
    """Return a version's records on the test cases that both sides measured; without a verdict, those on val."""
    verdict = runner.outcome.verdict
    if item is None:
        return []
    for one in (verdict.start, verdict.best) if verdict is not None else ():
        if one is not None and verdict is not None and one.version == item.id:
            shared = set(shared_cases(verdict))
            return [record for record in one.records if record.case in shared]
    standing = runner.standings.of(item.id)
    return [] if standing is None else standing.records()


def _named_scores(runner: Runner, start: Version | None, best: Version | None) -> list[dict[str, Any]]:
    before, after = means(_records_of(runner, start)), means(_records_of(runner, best))
    return [{"name": name, "start": before.get(name), "best": after.get(name)} for name in sorted({*before, *after})]


def _times(runner: Runner, best: Version | None) -> dict[str, Any]:
    def mean(item: Version | None) -> float | None:
        known = [record.elapsed_ms for record in _records_of(runner, item) if record.elapsed_ms is not None]
        return mean_of(known) if known else None

    return {
        "start_ms": mean(runner.outcome.start),
        "best_ms": mean(best),
        "clock_floor_ms": runner.clock_floor_ms,
    }


def _costs(runner: Runner, best: Version | None) -> dict[str, Any]:
    def mean(item: Version | None) -> float | None:
        costs = [record.cost_usd for record in _records_of(runner, item)]
        known = [cost for cost in costs if cost is not None]
        return mean_of(known) if known and len(known) == len(costs) else None

    return {"start_usd": mean(runner.outcome.start), "best_usd": mean(best)}


def _split_sizes(runner: Runner) -> dict[str, int]:
    data = runner.project.dataset
    return {"train": len(data.train), "val": 0 if data.val is data.train else len(data.val), "test": len(data.test)}


def _not_evaluated(runner: Runner) -> str | None:
    """Say which versions were put forward and not tried on all of val."""
    if runner.versions is None:
        return None
    complete = runner.standings.complete
    partial = [f"v{number}" for number, item in enumerate(runner.versions.all()) if item.id not in complete]
    if not partial:
        return None
    shown = ", ".join(partial[:5]) + (" and more" if len(partial) > 5 else "")
    count = "1 version was" if len(partial) == 1 else f"{len(partial)} versions were"
    return f"{count} not tried on every val case and cannot be the best: {shown}"
