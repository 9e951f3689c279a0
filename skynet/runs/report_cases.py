"""The report's table of cases: start and best side by side."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from skynet.data.case import Case
from skynet.engine import Version
from skynet.evaluation.record import Record

if TYPE_CHECKING:
    from skynet.runs.runner import Runner

Side = dict[str, Any]


def case_rows(runner: Runner, start: Version | None, best: Version | None) -> list[dict[str, Any]]:
    """Return one row for each test and val case and repetition that start or best was run on; test first."""
    verdict = runner.outcome.verdict
    tested = [] if verdict is None else [one for one in (verdict.start, verdict.best) if one is not None]
    data = runner.project.dataset
    rows = _rows("test", data.test, {one.version: one.records for one in tested}, start, best or start)
    val = {
        item.id: standing.records()
        for item in (start, best)
        if item is not None and (standing := runner.standings.of(item.id)) is not None
    }
    return rows + _rows("val", data.val, val, start, best)


def _rows(
    split: str, cases: Iterable[Case], records: dict[str, Any], start: Version | None, best: Version | None
) -> list[dict[str, Any]]:
    before, after = _by_place(records, start), _by_place(records, best)
    return [
        {
            "split": split,
            "case": case.id,
            "input": case.input,
            "expected": case.expected,
            "repetition": repetition,
            "start": _side(before.get((case.id, repetition))),
            "best": _side(after.get((case.id, repetition))),
        }
        for case in cases
        for repetition in sorted({place[1] for place in (*before, *after) if place[0] == case.id})
    ]


def _by_place(records: dict[str, Any], item: Version | None) -> dict[tuple[str, int], Record]:
    found = records.get(item.id, ()) if item is not None else ()
    return {(record.case, record.repetition): record for record in found}


def _side(record: Record | None) -> Side | None:
    if record is None:
        return None
    return {
        "status": record.status,
        "score": record.score,
        "output": record.output,
        "feedback": record.feedback,
        "scores": dict(record.scores),
        "side_info": dict(record.side_info),
        "failure": record.failure,
        "error": record.error_text(),
        "elapsed_ms": record.elapsed_ms,
        "cost_usd": record.cost_usd,
    }
