"""An evaluation job: every row run or read once, and scored by every metric that is for it. Nothing is optimized."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from skynet.artifact import Artifact
from skynet.errors import SkynetError, nearest
from skynet.evaluation.case_run import CaseRunner, ticket_for
from skynet.evaluation.project import Functions, Project
from skynet.evaluation.record import Record
from skynet.evaluation.scoring import as_record
from skynet.evaluation.stages import told
from skynet.models.gateway import CONCURRENCY, Gateway
from skynet.models.ledger import Ledger
from skynet.runs.evaluation_corpus import corpus_of
from skynet.runs.evaluation_log import JobLog, job_mark
from skynet.runs.evaluation_metrics import JobMetric, open_metrics
from skynet.runs.evaluation_outcome import Item, JobResult, MetricOutcome, item_of
from skynet.runs.evaluation_rows import JobCase, JobRows, job_rows
from skynet.runs.ledger_lines import ledger_lines
from skynet.spec import EvalSpec, Spec
from skynet.summary.comparison import compare
from skynet.target.base import Target, TargetResult, Ticket
from skynet.target.prompted import PromptedTarget
from skynet.workers.fault import Fault

OnRow = Callable[[int, int], None]  # rows done, rows in all
Scores = Mapping[str, float | None]  # of an earlier job, by row


@dataclass(frozen=True, slots=True)
class JobOptions:
    """What is asked of one job beside its spec. `baseline` and `least` are keyed by metric.

    `functions` and `start` stand in for the files of metric, target and artifact. With `folder` finished rows are
    logged there as they end; `resume` takes over those that a cut job logged.
    """

    limit: int | None = None
    concurrency: int | None = None
    baseline: Mapping[str, Scores] = field(default_factory=dict)
    least: Mapping[str, float] = field(default_factory=dict)
    on_row: OnRow = lambda done, rows: None
    folder: Path | None = None
    resume: bool = False
    functions: Functions = field(default_factory=Functions)
    start: Artifact | None = None


def run_evaluation(spec: Spec, options: JobOptions) -> JobResult:
    """Run the job of `[eval]` and return what it found.

    Raises SkynetError where it cannot begin, or where a model's provider refuses the first row for good.
    """
    job = _job_of(spec, options)
    started, clock = time.time(), time.monotonic()
    rows = job_rows(spec, job)
    cases = rows.cases[: options.limit]
    ledger = Ledger()
    workers = min(options.concurrency or spec.evaluation.concurrency, len(cases))
    places = max(CONCURRENCY, workers)
    gateway = Gateway(spec.models, spec.root, ledger=ledger, environ=os.environ, concurrency=places)
    with ExitStack() as stack:
        project = stack.enter_context(
            Project(spec, functions=options.functions, start=options.start, models=gateway, workers=workers)
        )
        metrics = open_metrics(project, job.metrics, gateway, workers)
        for one in metrics:
            stack.callback(one.metric.close)
        work = _Work(project, job, metrics)
        if options.folder is not None:
            work.log = JobLog(options.folder, job_mark(project, job), resume=options.resume)
            stack.callback(work.log.close)
        items = work.all(cases, workers, options.on_row)
    return JobResult(
        name=spec.name,
        outputs="stored" if job.output is not None else "prompt" if job.prompt is not None else "target",
        rows=len(cases),
        metrics=tuple(_outcome(one, job.metrics[one.name].options, cases, items, options) for one in metrics),
        started_at=started,
        seconds=time.monotonic() - clock,
        ledger=ledger_lines(ledger.entries()),
        warnings=(*rows.warnings, *_left_out(rows, cases), *_without_rows(metrics, items), *_taken_over(work.reused)),
    )


def _job_of(spec: Spec, options: JobOptions) -> EvalSpec:
    job = spec.eval
    if job is None:
        raise SkynetError("skynet.toml has no [eval]; add it, with a table such as [eval.metrics.exact]")
    for name in (*options.least, *options.baseline):
        if name not in job.metrics:
            known = ", ".join(job.metrics)
            raise SkynetError(f"there is no metric {name!r}; there are {known}.{nearest(name, job.metrics)}")
    return job


class _Work:
    """The job's rows in threads. Rows end in any order; what is returned is in theirs."""

    def __init__(self, project: Project, job: EvalSpec, metrics: Sequence[JobMetric]) -> None:
        self._seed = project.seed
        self._metrics = metrics
        self._column = job.output
        self.log: JobLog | None = None
        self.reused = 0
        self._cancel = threading.Event()
        self._target: Target | None = None
        self._artifact = Artifact("text", job.prompt or "")
        if job.output is None:
            self._target = self._open_target(project, job)

    def _open_target(self, project: Project, job: EvalSpec) -> Target:
        if job.prompt is not None:
            target: Target = PromptedTarget(project.gateway, project.spec.target.timeout)
        else:
            if project.start is None:
                raise SkynetError(
                    "the job would run the target, and artifact.path names no version; name one, or give eval.output "
                    "(a column with stored outputs) or eval.prompt"
                )
            self._artifact, target = project.start, project.target
        unready = target.load()
        if unready is not None and unready.fault is not None:
            raise SkynetError(f"the target does not load: {told(unready.fault, unready.stderr)}")
        return target

    def all(self, cases: Sequence[JobCase], workers: int, on_row: OnRow) -> dict[str, dict[str, Item]]:
        """Return the items of each metric by row. The first row goes alone, so that a wrong key costs one call."""
        done = self._logged(cases)
        self.reused = len(done)
        left = [row for row in cases if row.case.id not in done]
        for row in left[:1]:
            done[row.case.id] = self._row(row, preflight=True)
        on_row(len(done), len(cases))
        threads = ThreadPoolExecutor(max_workers=workers)
        try:
            futures = {threads.submit(self._row, row): row for row in left[1:]}
            for future in as_completed(futures):
                done[futures[future].case.id] = future.result()
                on_row(len(done), len(cases))
        except BaseException:
            self._cancel.set()
            raise
        finally:
            threads.shutdown(wait=True, cancel_futures=True)
        return {
            one.name: {row.case.id: done[row.case.id][one.name] for row in cases if one.name in done[row.case.id]}
            for one in self._metrics
        }

    def _logged(self, cases: Sequence[JobCase]) -> dict[str, dict[str, Item]]:
        """Return what a cut job has finished of the rows."""
        if self.log is None:
            return {}
        known = {row.case.id: self.log.known(row) for row in cases}
        return {
            case: {name: item_of(record) for name, record in records.items()}
            for case, records in known.items()
            if records is not None
        }

    def _row(self, row: JobCase, preflight: bool = False) -> dict[str, Item]:
        ticket = ticket_for(self._seed, "" if self._target is None else self._artifact.id, row.case, 0, self._cancel)
        result = TargetResult(output=row.output) if self._target is None else self._target.run(self._artifact, ticket)
        found = {one.name: self._record(one, row, ticket, result) for one in self._metrics if one.is_for(row.case)}
        for name, record in found.items():
            if preflight and record.refused_for_good and record.fault is not None:
                raise SkynetError(f"eval.metrics.{name}, case {record.case}: {record.fault.message}")
        if self.log is not None:
            self.log.add(row, found)
        return {name: item_of(record) for name, record in found.items()}

    def _record(self, one: JobMetric, row: JobCase, ticket: Ticket, result: TargetResult) -> Record:
        if self._target is not None:
            runner = CaseRunner(self._target, one.metric, self._seed)
            return runner.score(ticket, result) if result.fault is None else runner.failed(ticket, result)
        if not row.stored:
            fault = Fault("raised", f"no output is stored in the column {self._column!r}")
            return Record("", row.case.id, 0, "failed", failure="target", fault=fault)
        return as_record(one.metric.score(row.case, row.output, ticket, None), "", row.case.id, 0, row.output)


def _outcome(
    one: JobMetric,
    settings: Mapping[str, Any],
    cases: Sequence[JobCase],
    items: Mapping[str, Mapping[str, Item]],
    options: JobOptions,
) -> MetricOutcome:
    own = items[one.name]
    before = options.baseline.get(one.name)
    comparison = None if before is None else compare(before, {name: item.score for name, item in own.items()})
    measured = [
        (row.case, own[row.case.id].output)
        for row in cases
        if row.case.id in own and own[row.case.id].score is not None
    ]
    corpus = corpus_of(one.type, settings, measured)
    return MetricOutcome(one.name, one.type, tuple(own.values()), comparison, options.least.get(one.name), corpus)


def _left_out(rows: JobRows, cases: Sequence[JobCase]) -> Iterator[str]:
    if len(cases) < len(rows.cases):
        yield f"the first {len(cases)} of {len(rows.cases)} rows were evaluated, as --limit asks"


def _without_rows(metrics: Sequence[JobMetric], items: Mapping[str, Mapping[str, Item]]) -> Iterator[str]:
    for one in metrics:
        if not items[one.name]:
            yield f"eval.metrics.{one.name} is for no row: none has {one.only}"


def _taken_over(rows: int) -> Iterator[str]:
    if rows:
        yield f"{rows} rows were finished before the job was cut; model calls and cost are those of the others"
