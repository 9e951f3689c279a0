"""`skynet.evaluate` for Python and notebooks, and what it shares with `skynet eval`: the options of one job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from skynet.errors import SkynetError
from skynet.evaluation.arguments import Arguments, Start, Table, UserCode
from skynet.evaluation.given_cases import plain_rows
from skynet.runs.evaluation_files import free_folder, read_baseline, write_files
from skynet.runs.evaluation_job import JobOptions, run_evaluation
from skynet.runs.evaluation_outcome import JobResult
from skynet.spec import Spec
from skynet.spec.jobs import NOT_NEEDED


def evaluate(
    project: str | Path = ".",
    *,
    job: Table | None = None,
    artifact: Start | None = None,
    metric: UserCode | None = None,
    target: UserCode | Table | None = None,
    data: Table | None = None,
    models: Table | None = None,
    spec: Spec | Table | None = None,
    limit: int | None = None,
    concurrency: int | None = None,
    baseline: str | Path | None = None,
    fail_under: Mapping[str, float] | None = None,
    output_dir: str | Path | None = None,
    resume: str | Path | None = None,
    skip_bad_rows: int | None = None,
) -> JobResult:
    """Score the rows of `[eval]` by its metrics, write the job's files as `skynet eval` does, and return the result.

    `project` is the folder of `skynet.toml`; `spec` stands in for the file. `job` is the table `[eval]` as a dict,
    whose `rows` may be a DataFrame; it and `artifact`, `metric`, `target`, `data`, `models`, which are those of
    `optimize`, win over the spec. A function as `metric` is that of every table of type metric without a path. The
    other options are those of the command: `fail_under` maps metrics to the least average, which `ok` then tells.
    Raises SpecError, DataError or another SkynetError.
    """
    given = Arguments(artifact=artifact, metric=metric, target=target, data=data, models=models)
    joined = given.spec(Path(project), spec, NOT_NEEDED, _more(job, data, skip_bad_rows))
    folder = job_folder(joined, output_dir, resume)
    options = job_options(
        joined,
        folder,
        limit=limit,
        concurrency=concurrency,
        baseline=None if baseline is None else Path(baseline),
        least=fail_under or {},
        resume=resume is not None,
    )
    options = replace(options, functions=given.functions, start=given.start(joined))
    return write_files(run_evaluation(joined, options), folder)


def _more(job: Table | None, data: Table | None, skip_bad_rows: int | None) -> dict[str, Any]:
    """Return the tables that only an evaluation takes."""
    more: dict[str, Any] = {}
    if job is not None:
        more["eval"] = {**job, "rows": plain_rows(job["rows"])} if job.get("rows") is not None else job
    if skip_bad_rows is not None:
        more["data"] = {**(data or {}), "skip_bad_rows": skip_bad_rows}
    return more


def job_folder(spec: Spec, output_dir: str | Path | None, resume: str | Path | None) -> Path:
    """Return the folder of the job's files: one of the two, or a new one. Raises SkynetError for both."""
    if resume is not None and output_dir is not None:
        raise SkynetError("the job to resume names its folder already; leave the output folder out")
    chosen = output_dir if resume is None else resume
    return free_folder(spec.root) if chosen is None else Path(chosen)


def job_options(
    spec: Spec,
    folder: Path,
    *,
    limit: int | None,
    concurrency: int | None,
    baseline: Path | None,
    least: Mapping[str, float],
    resume: bool,
) -> JobOptions:
    """Return the options of a job with files in `folder`. Raises SkynetError for those that make no sense."""
    before = {} if baseline is None else read_baseline(baseline)
    known = before if spec.eval is None else {name: part for name, part in before.items() if name in spec.eval.metrics}
    if before and not known:
        raise SkynetError(f"{baseline} is of the metrics {', '.join(before)}; the job has none of them")
    for name, value in (("limit", limit), ("concurrency", concurrency)):
        if value is not None and value < 1:
            raise SkynetError(f"{name} is {value}; it is a number of rows, 1 or more")
    return JobOptions(limit, concurrency, known, least, folder=folder, resume=resume)
