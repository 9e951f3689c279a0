"""`skynet eval`: a bar while the rows are worked on, a table of averages, and the files; or one JSON object."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skynet.cli.ending import FAILED, INTERRUPTED
from skynet.cli.show import print_json, print_table
from skynet.errors import SkynetError
from skynet.evaluation.display import number, printable

if TYPE_CHECKING:
    from skynet.runs.evaluation_outcome import JobResult, MetricOutcome

_BAR = 24


def run_eval_command(
    directory: Path,
    as_json: bool,
    tables: Mapping[str, Any],
    *,
    limit: int | None,
    concurrency: int | None,
    baseline: Path | None,
    fail_under: Sequence[str],
    output_dir: Path | None,
    resume: Path | None,
) -> int:
    """Run the job of the project; return 0, or 1 where a metric scored no row or is under `fail_under`."""
    from skynet.runs.evaluation_api import job_folder, job_options
    from skynet.runs.evaluation_files import PAGE, write_files
    from skynet.runs.evaluation_job import run_evaluation
    from skynet.spec import load_spec
    from skynet.spec.jobs import NOT_NEEDED

    spec = load_spec(directory, tables, NOT_NEEDED)
    least = dict(parse_least(text) for text in fail_under)
    folder, again = job_folder(spec, output_dir, resume), resume is not None
    options = job_options(
        spec, folder, limit=limit, concurrency=concurrency, baseline=baseline, least=least, resume=again
    )
    try:
        result = write_files(run_evaluation(spec, replace(options, on_row=print_progress)), folder)
    except KeyboardInterrupt:
        if folder.exists():
            told = f"Interrupted; go on with `skynet eval {directory} --resume {folder}`."
        else:
            told = "Interrupted before a row was finished; nothing is stored."
        print(f"\n{told}", file=sys.stderr)
        return INTERRUPTED
    if as_json:
        print_json(result.to_json())
    else:
        _print(result, folder / PAGE)
    return 0 if result.ok else FAILED


def parse_least(text: str) -> tuple[str, float]:
    """Return name and number of `NAME=0.8`. Raises SkynetError."""
    name, _, value = text.rpartition("=")
    try:
        least = float(value)
    except ValueError:
        least = math.nan
    if not name or not math.isfinite(least):
        raise SkynetError(f"--fail-under takes NAME=NUMBER, such as exact=0.8; it got {text!r}")
    return name, least


def print_progress(done: int, rows: int) -> None:
    """Renew the bar on stderr, where that is a terminal."""
    if sys.stderr.isatty():
        filled = _BAR * done // rows
        bar = "#" * filled + "." * (_BAR - filled)
        print(f"\r[{bar}] {done} of {rows} rows", end="\n" if done == rows else "", file=sys.stderr, flush=True)


def _print(result: JobResult, page: Path) -> None:
    for warning in result.warnings:
        print(f"Warning: {printable(warning)}", file=sys.stderr)
    head = ("metric", "average", "scored", "unmeasured", "failed", "of", "difference to the baseline")
    print_table(head, map(_line, result.metrics))
    for one in result.metrics:
        if one.corpus is not None:
            print(f"{one.name}: {one.corpus.told}.")
        if one.average_score is None:
            print(f"{one.name}: no row was scored. {_first_error(one)}".rstrip())
        elif one.passed is False and one.least is not None:
            print(f"{one.name}: {number(one.average_score)} is under {number(one.least)}, which --fail-under asks for.")
    cost = "unknown" if result.cost_usd is None else f"${number(result.cost_usd)}"
    print(f"Model calls: {sum(entry['calls'] for entry in result.ledger)}, cost {cost}.\nReport: {page}")


def _line(one: MetricOutcome) -> tuple[str, ...]:
    found = one.coverage
    average = "-" if one.average_score is None else number(one.average_score)
    counts = (str(found.scored), str(found.missing), str(found.failed), str(found.total))
    return (one.name, average, *counts, difference_text(one))


def difference_text(one: MetricOutcome) -> str:
    """Return the difference with its interval; a dash where nothing is compared."""
    found = one.comparison
    if found is None or found.mean is None or found.low is None or found.high is None:
        return "-" if found is None else "no row in both"
    return f"{found.mean:+.4g} (95 % {found.low:+.4g} to {found.high:+.4g}) on {found.cases} rows"


def _first_error(one: MetricOutcome) -> str:
    texts = [item.error or item.reasoning for item in one.items]
    return printable(f"Row {one.items[0].id}: {texts[0]}") if texts else ""
