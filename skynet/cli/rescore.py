"""`skynet rescore`: stored and new means side by side; or one JSON object."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from skynet.cli.ending import FAILED
from skynet.cli.eval import difference_text, print_progress
from skynet.cli.show import print_json, print_table
from skynet.evaluation.display import number, printable

if TYPE_CHECKING:
    from skynet.runs.rescore import Rescored


def run_rescore_command(
    directory: Path,
    run: str,
    metric: Path | None,
    versions: Sequence[str],
    splits: Sequence[str],
    output_dir: Path | None,
    as_json: bool,
) -> int:
    """Score a run's stored outputs again; return 1 where a version got no score at all."""
    from skynet.runs.evaluation_files import PAGE, free_folder, write_files
    from skynet.runs.rescore import rescore_run

    found = rescore_run(directory, run, metric, versions=versions, splits=splits, on_row=print_progress)
    folder = output_dir or free_folder(directory)
    write_files(found.job, folder)
    if as_json:
        print_json({**found.job.summary(), "stored": found.stored, "folder": str(folder)})
    else:
        _print(found, folder / PAGE)
    return 0 if found.job.ok else FAILED


def _print(found: Rescored, page: Path) -> None:
    for warning in found.job.warnings:
        print(f"Warning: {printable(warning)}", file=sys.stderr)
    head = ("version", "stored", "new", "scored", "unmeasured", "failed", "of", "new difference to the first version")
    rows = []
    for one in found.job.metrics:
        coverage, stored = one.coverage, found.stored[one.name]
        means = ("-" if mean is None else number(mean) for mean in (stored, one.average_score))
        counts = (str(coverage.scored), str(coverage.missing), str(coverage.failed), str(coverage.total))
        rows.append((one.name, *means, *counts, difference_text(one)))
    print_table(head, rows)
    print(f"Report: {page}")
