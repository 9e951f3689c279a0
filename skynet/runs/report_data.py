"""The report's data: everything that a run can tell, gathered from its outcome and its books."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import pairwise
from typing import Any

from skynet.artifact import diff
from skynet.data.case import Case
from skynet.engine import Version
from skynet.evaluation.record import Record
from skynet.models.ledger import Ledger
from skynet.runs.books import RunBooks
from skynet.runs.engines import package_of
from skynet.runs.events import Event
from skynet.runs.fingerprint import DISTRIBUTION
from skynet.runs.ledger_lines import ledger_lines
from skynet.runs.report_cases import case_rows
from skynet.runs.runner import Runner
from skynet.runs.store import RunRow, Store
from skynet.runs.verdict import SealedPass
from skynet.summary.aggregate import mean_of
from skynet.summary.overlap import shared_runs, values_given_away
from skynet.summary.warnings import ValFigures, overlap_warnings, verdict_warnings
from skynet.target.code import NOT_ISOLATED
from skynet.target.prompt import split_turns

SCHEMA = 1
_LOWER_BOUND = "A model was called whose price nobody knows: the dollars of this run are a lower bound."


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
    verdict = outcome.verdict
    ended = time.time()
    versions = runner.versions.all() if runner.versions is not None else []
    events = books.events.read()
    proposed = {event.version: event.details["metric_calls"] for event in events if event.kind == "proposed"}
    best = next((item for item in versions if item.id == outcome.best), None)
    seen = _times_seen(source, runner)
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
        "ended_at": ended,
        "seconds": runner.budget.active_seconds,
        "changed": best is not None and outcome.start is not None and best.id != outcome.start.id,
        "rejected": None if verdict is None else verdict.rejected,
        "baseline": _side(runner, outcome.start, None if verdict is None else verdict.start),
        "best": _side(runner, best, _best_pass(runner)),
        "difference": _difference(runner),
        "warnings": _warnings(runner, best, seen),
        "notes": outcome.notes + ([_LOWER_BOUND] if runner.budget.usd_is_lower_bound else []),
        "versions": [_version_row(runner, item) | {"at_call": proposed.get(item.id)} for item in versions],
        "rejections": _rejections(runner),
        "curve": _curve(events),
        "diff": _diff(outcome.start, _shown_best(runner, best)),
        "failure_score": runner.standings.failure_value() if runner.standings.complete else None,
        "cases": case_rows(runner, outcome.start, _shown_best(runner, best)),
        "named_scores": _named_scores(runner, outcome.start, best),
        "time": _times(runner),
        "cost": _costs(runner),
        "ledger": ledger_lines(source.ledger.entries()),
        "budget": _budget(runner),
        "split_sizes": _split_sizes(runner),
        "test_seen": seen,
        "data_warnings": list(project.dataset.warnings),
        "demonstrations": [] if best is None else _demonstrations(best),
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
    standing = None if item is None else runner.standings.of(item.id)
    return {
        "version": None if item is None else item.id,
        "val": None if standing is None else standing.mean(),
        "test": None if sealed is None else sealed.mean,
    }


def _best_pass(runner: Runner) -> SealedPass | None:
    verdict = runner.outcome.verdict
    if verdict is None:
        return None
    return verdict.best if verdict.changed else verdict.start


def _difference(runner: Runner) -> dict[str, Any] | None:
    verdict = runner.outcome.verdict
    return None if verdict is None or verdict.comparison is None else verdict.comparison.to_json()


def _times_seen(source: ReportSource, runner: Runner) -> int:
    if runner.outcome.verdict is None:
        return 0
    return source.store.times_tested({case.content_hash for case in runner.project.dataset.test})


def _warnings(runner: Runner, best: Version | None, seen: int) -> list[str]:
    verdict = runner.outcome.verdict
    warnings: list[str] = []
    if verdict is not None and verdict.left_out:
        warnings.append(
            f"The budget paid for {verdict.cases} of {verdict.cases + verdict.left_out} test cases: the first ones in "
            "seeded order."
        )
    if verdict is not None and verdict.comparison is not None:
        start, challenger = runner.standings.of(verdict.start.version), runner.standings.of(_challenger(verdict))
        figures = ValFigures(
            None if start is None else start.mean(),
            None if challenger is None else challenger.mean(),
            len(runner.project.dataset.val),
        )
        warnings += verdict_warnings(verdict.comparison, val=figures, times_seen=max(seen, 1))
    if best is not None and runner.outcome.start is not None and best.id != runner.outcome.start.id:
        warnings += _overlap(runner, best)
    return warnings + runner.named_score_warnings()


def _shown_best(runner: Runner, best: Version | None) -> Version | None:
    """Return the version shown beside the start: the best, or the challenger that the verdict rejected."""
    verdict = runner.outcome.verdict
    if verdict is not None and verdict.best is not None and runner.versions is not None:
        return runner.versions[verdict.best.version]
    return best


def _challenger(verdict: Any) -> str:
    return str(verdict.best.version if verdict.best is not None else verdict.start.version)


def _overlap(runner: Runner, best: Version) -> list[str]:
    """Warn of rows that stand in the instructions; demonstrations are listed, not warned of."""
    text = _instructions(best)
    data = runner.project.dataset
    train = {case.id: case for case in data.train}
    everything: Sequence[Case] = [*data.train, *(case for case in (*data.val, *data.test) if case.id not in train)]
    runs = shared_runs(text, ((case.id, case.input) for case in data.train))
    given_away = values_given_away(text, ((case.id, case.expected) for case in everything))
    return overlap_warnings(runs, given_away)


def _instructions(item: Version) -> str:
    if item.artifact.kind != "text":
        return item.artifact.text
    return "\n".join(turn.text for turn in split_turns(item.artifact.text) if turn.role == "system")


def _demonstrations(item: Version) -> list[str]:
    """Return the user and assistant turns of a chat text, pair by pair."""
    if item.artifact.kind != "text":
        return []
    turns = split_turns(item.artifact.text)
    pairs = pairwise(turns)
    return [f"{one.text} -> {two.text}" for one, two in pairs if (one.role, two.role) == ("user", "assistant")]


def _version_row(runner: Runner, item: Version) -> dict[str, Any]:
    standing = runner.standings.of(item.id)
    coverage = None if standing is None else standing.coverage()
    return {
        "id": item.id,
        "parent": item.parent,
        "note": item.note,
        "kind": item.artifact.kind,
        "text": item.artifact.text,
        # A mean over a part of val would stand beside whole ones as if it could be compared with them.
        "val": standing.mean() if standing is not None and item.id in runner.standings.complete else None,
        "coverage": None if coverage is None else {"total": coverage.total, "measured": coverage.measured},
        "status": _status(runner, item),
        "scores": {} if standing is None else _means(standing.records()),
    }


def _status(runner: Runner, item: Version) -> str:
    outcome = runner.outcome
    if outcome.verdict is not None and outcome.verdict.rejected == item.id:
        return "rejected"
    if outcome.best == item.id and outcome.start is not None and outcome.start.id != item.id:
        return "best"
    return "start" if outcome.start is not None and outcome.start.id == item.id else "candidate"


def _means(records: Iterable[Record]) -> dict[str, float]:
    values: dict[str, list[float]] = {}
    for record in records:
        for name, value in record.scores.items():
            values.setdefault(name, []).append(value)
    return {name: mean_of(found) for name, found in sorted(values.items())}


def _rejections(runner: Runner) -> list[dict[str, Any]]:
    reasons = Counter(reason for _, reason in runner.versions.rejections) if runner.versions is not None else Counter()
    return [{"reason": reason, "count": count} for reason, count in reasons.most_common()]


def _curve(events: Sequence[Event]) -> list[dict[str, Any]]:
    return [
        {"metric_calls": event.details["metric_calls"], "usd": event.details["usd"], "best_val": event.details["val"]}
        for event in events
        if event.kind == "accepted" and event.details["val"] is not None
    ]


def _records_of(runner: Runner, item: Version | None) -> list[Record]:
    verdict = runner.outcome.verdict
    if item is None:
        return []
    for one in (verdict.start, verdict.best) if verdict is not None else ():
        if one is not None and one.version == item.id:
            return list(one.records)
    standing = runner.standings.of(item.id)
    return [] if standing is None else standing.records()


def _named_scores(runner: Runner, start: Version | None, best: Version | None) -> list[dict[str, Any]]:
    before, after = _means(_records_of(runner, start)), _means(_records_of(runner, best))
    return [{"name": name, "start": before.get(name), "best": after.get(name)} for name in sorted({*before, *after})]


def _times(runner: Runner) -> dict[str, Any]:
    def mean(item: Version | None) -> float | None:
        known = [record.elapsed_ms for record in _records_of(runner, item) if record.elapsed_ms is not None]
        return mean_of(known) if known else None

    return {
        "start_ms": mean(runner.outcome.start),
        "best_ms": mean(_best(runner)),
        "clock_floor_ms": runner.clock_floor_ms,
    }


def _costs(runner: Runner) -> dict[str, Any]:
    def mean(item: Version | None) -> float | None:
        costs = [record.cost_usd for record in _records_of(runner, item)]
        known = [cost for cost in costs if cost is not None]
        return mean_of(known) if known and len(known) == len(costs) else None

    return {"start_usd": mean(runner.outcome.start), "best_usd": mean(_best(runner))}


def _best(runner: Runner) -> Version | None:
    if runner.versions is None or runner.outcome.best is None:
        return None
    return runner.versions[runner.outcome.best]


def _budget(runner: Runner) -> dict[str, Any]:
    limits, spent = runner.budget.limits, runner.budget.spent
    return {
        "metric_calls": {"limit": limits.metric_calls, "used": spent.metric_calls},
        "usd": {"limit": limits.usd, "used": spent.usd},
        "tokens": {"limit": limits.tokens, "used": spent.tokens},
        "seconds": {"limit": limits.seconds, "used": runner.budget.active_seconds},
    }


def _split_sizes(runner: Runner) -> dict[str, int]:
    data = runner.project.dataset
    return {"train": len(data.train), "val": 0 if data.val is data.train else len(data.val), "test": len(data.test)}


def _not_evaluated(runner: Runner) -> str | None:
    """Say which versions were put forward and not tried on all of val."""
    if runner.versions is None:
        return None
    partial = [item.id for item in runner.versions.all() if item.id not in runner.standings.complete]
    if not partial:
        return None
    shown = ", ".join(partial[:5]) + (" and more" if len(partial) > 5 else "")
    count = "1 version was" if len(partial) == 1 else f"{len(partial)} versions were"
    return f"{count} not tried on every val case and cannot be the best: {shown}"
