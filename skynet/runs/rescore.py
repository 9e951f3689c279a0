"""Scoring a run's stored outputs by another metric; no target runs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from skynet.data.case import Case
from skynet.errors import SkynetError
from skynet.evaluation.case_run import ticket_for
from skynet.evaluation.check_project import measured_of
from skynet.evaluation.project import Project
from skynet.evaluation.record import Record
from skynet.evaluation.scoring import as_record
from skynet.evaluation.stages import told
from skynet.models.gateway import Gateway
from skynet.models.ledger import Ledger
from skynet.runs import schema
from skynet.runs.codec import decode
from skynet.runs.evaluation_outcome import Item, JobResult, MetricOutcome, item_of
from skynet.runs.ledger_lines import ledger_lines
from skynet.runs.session import open_store
from skynet.runs.store import RunRow, Store
from skynet.runs.stored import StoredRun
from skynet.spec import Spec, load_spec
from skynet.summary.aggregate import mean_of
from skynet.summary.comparison import compare

OnRow = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class StoredOutput:
    """An output that the run stored, with what was measured and scored of it then."""

    name: str  # the version's name and the split: start-val
    case: Case
    record: Record

    @property
    def id(self) -> str:
        """The case, and from the second repetition on which one."""
        return (
            self.case.id if self.record.repetition == 0 else f"{self.case.id}, repetition {self.record.repetition + 1}"
        )


@dataclass(frozen=True, slots=True)
class Rescored:
    """The new scores as a job with one outcome per version and split, and the means that the run had stored."""

    job: JobResult
    stored: dict[str, float | None]


def rescore_run(
    root: Path,
    run: str,
    metric: Path | None = None,
    *,
    versions: Sequence[str] = ("start", "best"),
    splits: Sequence[str] = ("val", "test"),
    on_row: OnRow = lambda done, rows: None,
) -> Rescored:
    """Score the stored outputs of the run's `versions` on `splits` by the metric file, or by the project's.

    An outcome is compared with the first version's on the same split. Failed target runs stay failed. Raises
    SkynetError where nothing is stored, or the metric does not load.
    """
    if metric is not None and not metric.is_file():
        raise SkynetError(f"there is no file {str(metric)!r}; name one with score(input, output, expected)")
    started, clock = time.time(), time.monotonic()
    with open_store(root, create=False) as store:
        row = store.run(run)
        own = {} if metric is None else {"metric": {"path": str(metric.absolute())}}
        spec = load_spec(root, {**(row.state.get("given") or {}), **own})
        ledger = Ledger()
        gateway = Gateway(spec.models, spec.root, ledger=ledger, environ=os.environ)
        with Project(spec, models=gateway, workers=spec.evaluation.concurrency) as project:
            outputs, lost = _outputs(store, row, project, versions, splits)
            items = _scored(project, spec, outputs, on_row)
    outcomes = _outcomes(versions, splits, outputs, items)
    warnings = (f"{lost} stored outputs are of rows that the data no longer holds; they are left out",) if lost else ()
    job = JobResult(
        f"{row.name}: run {row.id} by {Path(spec.metric.path).name}", "run", len(outputs), outcomes, started,
        time.monotonic() - clock, ledger_lines(ledger.entries()), warnings,
    )  # fmt: skip
    return Rescored(job, {one.name: _stored_mean(outputs, one.name) for one in outcomes})


def _outputs(
    store: Store, row: RunRow, project: Project, versions: Sequence[str], splits: Sequence[str]
) -> tuple[list[StoredOutput], int]:
    """Return the stored output of each version, case and repetition, and how many cases are gone.

    It is the first one, a provider's failure excepted, which was asked anew.
    """
    data = project.dataset
    cases = {(case.id, case.content_hash): case for case in (*data.train, *data.val, *data.test)}
    run, table = StoredRun(store, row), schema.evaluations
    found: dict[tuple[str, str, int], StoredOutput] = {}
    lost = 0
    for name in versions:
        query = (
            sa.select(table.c.body, table.c.case_hash, table.c.split)
            .where(table.c.run == row.number, table.c.version == run.version(name).id, table.c.split.in_(splits))
            .where(table.c.ended_at.is_not(None))
            .order_by(table.c.seq)
        )
        with store.read() as connection:
            rows = connection.execute(query).all()
        for body, case_hash, split in rows:
            record = Record.from_json(decode(body))
            case = cases.get((record.case, case_hash))
            lost += case is None
            if case is not None:
                one = StoredOutput(f"{name}-{split}", case, record)
                place = (one.name, one.case.id, record.repetition)
                if place not in found or found[place].record.failure == "provider":  # asked again after it
                    found[place] = one
    if not found:
        told_lost = f"; {lost} are of rows that the data no longer holds" if lost else ""
        raise SkynetError(
            f"run {row.id} has stored no output of {', '.join(versions)} on {', '.join(splits)}{told_lost}"
        )
    return list(found.values()), lost


def _scored(project: Project, spec: Spec, outputs: Sequence[StoredOutput], on_row: OnRow) -> list[Item]:
    loaded = project.metric.load()
    if loaded.fault is not None:
        raise SkynetError(f"the metric does not load: {told(loaded.fault, loaded.stderr)}")

    def score(one: StoredOutput) -> Item:
        record = one.record
        if record.failure == "target" or (record.failure == "provider" and not record.metric_called):
            return _named(item_of(record), one.id)
        ticket = ticket_for(project.seed, record.version, one.case, record.repetition)
        result = project.metric.score(one.case, record.output, ticket, measured_of(record))
        return _named(item_of(as_record(result, record.version, one.id, record.repetition, record.output)), one.id)

    items = []
    with ThreadPoolExecutor(max_workers=spec.evaluation.concurrency) as threads:
        for item in threads.map(score, outputs):
            items.append(item)
            on_row(len(items), len(outputs))
    return items


def _named(item: Item, name: str) -> Item:
    return Item(name, item.score, item.reasoning, item.error, item.output, item.scores, item.failure)


def _outcomes(
    versions: Sequence[str], splits: Sequence[str], outputs: Sequence[StoredOutput], items: Sequence[Item]
) -> tuple[MetricOutcome, ...]:
    made = []
    for split in splits:
        by_name: dict[str, list[Item]] = {f"{name}-{split}": [] for name in versions}
        for one, item in zip(outputs, items, strict=True):
            if one.name in by_name:
                by_name[one.name].append(item)
        first = {item.id: item.score for item in by_name[f"{versions[0]}-{split}"]}
        for number, (name, own) in enumerate(by_name.items()):
            other = number > 0 and own and first
            comparison = compare(first, {item.id: item.score for item in own}) if other else None
            if own:
                made.append(MetricOutcome(name, "metric", tuple(own), comparison))
    return tuple(made)


def _stored_mean(outputs: Sequence[StoredOutput], name: str) -> float | None:
    scores = [one.record.score for one in outputs if one.name == name and one.record.score is not None]
    return mean_of(scores) if scores else None
