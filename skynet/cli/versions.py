"""`skynet versions`: what a run's engine put forward."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from skynet.cli.run_views import opened_run
from skynet.cli.show import print_json, print_table

_NOTE_CHARS = 120


def run_versions_command(directory: Path, run: str, as_json: bool) -> int:
    """Print the versions of a run, of the newest one where `run` is empty, in the order they came."""
    with opened_run(directory, run) as (_, found):
        rows = found.version_rows()
        if as_json:
            print_json(rows)
            return 0
        print(f"Run {found.row.id}, {len(rows)} version{'' if len(rows) == 1 else 's'}")
    columns = ("", "version", "status", "val", "measured", "at call", "note")
    print_table(columns, map(_cells, rows))
    return 0


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    from skynet.runs.report.show import NOTHING, score, whole

    coverage = row["coverage"]
    measured = NOTHING if coverage is None else f"{coverage['measured']} of {coverage['total']}"
    return (
        str(row["number"]), row["version"], row["status"], score(row["val"]), measured,
        whole(row["at_call"]), _told(row),
    )  # fmt: skip


def _told(row: dict[str, Any]) -> str:
    """Return what was changed in a version and why it is not the best, as far as that is known."""
    from skynet.runs.report.show import one_line

    parts = [one_line(row["note"], _NOTE_CHARS), row["reason"] or ""]
    return "; ".join(part for part in parts if part)
