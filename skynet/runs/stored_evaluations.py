"""A run's evaluations as its store holds them, without outputs: what each scored, or how it failed."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from skynet.evaluation.record import Record
from skynet.runs import schema
from skynet.runs.codec import decode
from skynet.runs.fork import FORKED
from skynet.runs.store import RunRow, Store
from skynet.summary.coverage import Failure
from skynet.workers.fault import Fault


@dataclass(frozen=True, slots=True)
class StoredEvaluation:
    """One evaluation that ended. `score` is None unless it was measured; `fault` is set exactly when `failure` is.

    `forked`: another run paid for it.
    """

    version: str
    case: str
    split: str
    score: float | None
    failure: Failure | None
    fault: Fault | None
    forked: bool


def stored_evaluations(store: Store, row: RunRow) -> list[StoredEvaluation]:
    """Return the evaluations of the run's versions in the order in which they began; the check's own scores are none.

    One that was tried again stands there once for each try.
    """
    table = schema.evaluations
    columns = (table.c.version, table.c.case_id, table.c.split, table.c.score, table.c.failure)
    body = sa.case((table.c.failure.is_not(None), table.c.body))
    query = (
        sa.select(*columns, body, table.c.reserved == FORKED)
        .where(table.c.run == row.number, table.c.ended_at.is_not(None), table.c.split != "check")
        .order_by(table.c.seq)
    )
    with store.read() as connection:
        return [
            StoredEvaluation(version, case, split, score, failure, _fault(text), bool(forked))
            for version, case, split, score, failure, text, forked in connection.execute(query)
        ]


def _fault(body: str | None) -> Fault | None:
    return None if body is None else Record.from_json(decode(body)).fault
