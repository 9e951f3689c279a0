"""`skynet judge calibrate`: figures, confusion and the rows to look at; or one JSON object."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skynet.cli.ending import FAILED
from skynet.cli.show import print_json, print_table
from skynet.evaluation.display import json_ready, number, printable
from skynet.evaluation.places import calls_at_once

if TYPE_CHECKING:
    from skynet.evaluation.calibration import Calibration, Column
    from skynet.evaluation.labelled_rows import Columns
    from skynet.summary.agreement import Agreement

_SHOWN = 20  # rows of a list
_CELL = 160  # characters of an output or a reason


def run_calibrate_command(
    file: Path,
    directory: Path,
    columns: Columns,
    metric: Path | None,
    threshold: float | None,
    limit: int | None,
    as_json: bool,
) -> int:
    """Calibrate; return 0, or 1 when no row was judged. Raises SkynetError on wrong usage."""
    from skynet.evaluation.calibration import ASKINGS, calibrate
    from skynet.evaluation.labelled_rows import read_labelled
    from skynet.evaluation.project import Project
    from skynet.models.gateway import Gateway
    from skynet.models.ledger import Ledger, Totals
    from skynet.spec import load_spec

    given = {} if metric is None else {"metric": {"path": str(metric.absolute())}}
    spec = load_spec(directory, given, code=("artifact.path",))  # no target is run, so that none need be named
    rows = read_labelled(file, columns, spec.data, threshold)[:limit]
    ledger = Ledger()
    print(f"{len(rows)} rows, each judged {ASKINGS} times.", file=sys.stderr)
    gateway = Gateway(spec.models, spec.root, ledger=ledger, environ=os.environ, concurrency=calls_at_once(spec))
    with Project(spec, models=gateway, workers=spec.evaluation.concurrency) as project:
        result = calibrate(project, rows, threshold, on_row=_on_row)
    spent = ledger.totals().get("metric", Totals())
    usd = None if spent.unpriced else spent.cost_usd
    if as_json:
        print_json({**result.to_json(), "model_calls": spent.calls, "cost_usd": usd})
    else:
        _print(result)
        print(f"\nModel calls: {spent.calls}, {'cost unknown' if usd is None else f'${number(usd)}'}.")
    return 0 if result.judged else FAILED


def _on_row(done: int, rows: int) -> None:
    if sys.stderr.isatty():
        print(f"\r{done} of {rows}", end="\n" if done == rows else "", file=sys.stderr, flush=True)


def _print(result: Calibration) -> None:
    for warning in result.warnings:
        print(f"Warning: {printable(warning)}", file=sys.stderr)
    print(f"Judged {result.judged} of {result.rows} rows.")
    figures = [(column.column, "judge", *_figures(column.agreement)) for column in result.columns]
    figures += [(pair.first, pair.second, *_figures(pair.agreement)) for pair in result.people]
    print()
    print_table(("labels", "against", "rows", "agreement", "kappa", "95 % interval"), figures)
    print(f"\n{_contradictions(result)}")
    for item in result.contradictions[:_SHOWN]:
        print(printable(f"  row {item.row} (line {item.line}): first {item.first}, then {item.second}"))
    for column in result.columns:
        _print_column(column)
    _print_failures(result)


def _figures(found: Agreement) -> tuple[str, str, str, str]:
    rate = "-" if found.rate is None else f"{100 * found.rate:.0f} %"
    if found.kappa is None or found.low is None or found.high is None:
        return str(found.rows), rate, "-", "-"
    return str(found.rows), rate, f"{found.kappa:.2f}", f"{found.low:.2f} to {found.high:.2f}"


def _contradictions(result: Calibration) -> str:
    if result.contradiction_rate is None:
        return "No row was judged twice, so nothing is known of how often the judge contradicts itself."
    share = f"{len(result.contradictions)} of {result.repeated} rows"
    return f"Asked twice, the judge contradicts itself on {share} ({number(100 * result.contradiction_rate, 2)} %)."


def _print_column(column: Column) -> None:
    confusion = column.agreement.confusion
    print(printable(f"\n{column.column} (down) and the judge (across):"))
    print_table(("", *confusion), [[label, *map(str, row.values())] for label, row in confusion.items()])
    if column.disagreements:
        more = len(column.disagreements) - _SHOWN
        print(printable(f"\nWhere {column.column} and the judge disagree{f' (and {more} more)' if more > 0 else ''}:"))
        print_table(
            ("row", "line", "human", "judge", "output", "reason"),
            [
                (item.row, str(item.line), item.human, item.judge, _short(item.output), _short(item.reason))
                for item in column.disagreements[:_SHOWN]
            ],
        )


def _print_failures(result: Calibration) -> None:
    if result.failures:
        print(f"\nNot judged: {len(result.failures)} rows.")
    for row, reason in list(result.failures.items())[:_SHOWN]:
        print(printable(f"  row {row}: {_short(reason)}"))


def _short(value: Any) -> str:
    text = " ".join(str(value if isinstance(value, str) else json_ready(value)).split())
    return text if len(text) <= _CELL else f"{text[:_CELL]}..."
