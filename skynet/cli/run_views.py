"""`skynet runs list`, `show` and `diff`."""

from __future__ import annotations

import os
import sys
import time
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skynet.cli.options import require_folder
from skynet.cli.show import print_json, print_table
from skynet.errors import SkynetError
from skynet.evaluation.display import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from skynet.runs.report.words import Headline
    from skynet.runs.store import Store
    from skynet.runs.stored import StoredRun

_MORE = {"metric_calls": 100, "usd": 1, "tokens": 100_000, "seconds": 600}  # examples of what may be added
_STYLES = {"+": "32", "-": "31", "@": "36"}


@contextmanager
def opened_run(directory: Path, run: str) -> Iterator[tuple[Store, StoredRun]]:
    """Open the store of the project in `directory` and find the run, the newest where `run` is empty."""
    from skynet.runs.session import open_store
    from skynet.runs.stored import StoredRun

    with open_store(directory, create=False) as store:
        rows = [] if run else store.runs()
        if not run and not rows:
            raise SkynetError(f"{store.path} holds no run; `skynet run` starts one")
        yield store, StoredRun(store, rows[0] if rows else store.run(run))


def told_of(found: StoredRun) -> Headline:
    """Return the verdict on a stored run in words, or why there is none."""
    from skynet.runs.report.words import Headline, headline

    run = found.to_json()
    if found.report is None and run["difference"] is not None:
        told = f"The store has all that it is made of; `skynet runs resume {run['run']}` writes it anew without a call."
        return Headline("unknown", "The report is gone", told)
    return headline({**(found.report or run), "status": run["status"], "finish_reason": run["finish_reason"]})


def run_list_command(directory: Path, as_json: bool) -> int:
    """Print all runs of the project, none where it has no store yet."""
    from skynet.runs.session import STORE_FILE, STORE_FOLDER, open_store
    from skynet.runs.stored import StoredRun

    require_folder(directory)
    rows: list[dict[str, Any]] = []
    if (directory / STORE_FOLDER / STORE_FILE).exists():
        with open_store(directory, create=False) as store:
            rows = [
                {**StoredRun(store, row).to_json(), "started_at": _iso(row.started_at), "ended_at": _iso(row.ended_at)}
                for row in store.runs()
            ]
    if as_json:
        print_json(rows)
    elif rows:
        print_table(("run", "started", "engine", "status", "calls", "gain on test"), map(_list_row, rows))
    else:
        print(f"No runs in {directory.absolute()} yet; `skynet run` starts one.")
    return 0


def run_show_command(directory: Path, run: str, as_json: bool) -> int:
    """Print one run: its figures and how it ended; with JSON also all its events."""
    with opened_run(directory, run) as (_, found):
        if as_json:
            print_json({**found.to_json(), "events": [event.as_json() for event in found.events]})
        else:
            _print_run(found)
    return 0


def print_ended(directory: Path, run: str) -> None:
    """Print how a run has ended that was to go on, and what would make it go on."""
    with opened_run(directory, run) as (_, found):
        _print_run(found)
        row = found.row
        if found.to_json()["changed"]:
            print(f"Take the best version over: skynet runs export {row.id} --apply")
        print("\nIt has ended, so nothing was run.")
        limited = [name for name in _MORE if row.state["plan"].get(name) is not None]
        stopped_by = str(row.finish_reason).removeprefix("budget_")
        name = stopped_by if stopped_by in limited else next(iter(limited), None)
        if name is not None:
            print(f"To search on, grant more: skynet runs resume {row.id} --add-budget {name}={_MORE[name]}")
        print(f"To start a new run with what is still valid of it: skynet run --fork {row.id}")


def run_diff_command(directory: Path, run: str, versions: tuple[str, str]) -> int:
    """Print the unified diff of two versions of a run."""
    with opened_run(directory, run) as (_, found):
        text = found.diff(*versions)
    if not text:
        same = "nothing was changed" if versions == ("start", "best") else "they are the same version"
        print(f"No difference: {same}.", file=sys.stderr)
        return 0
    colours = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    for line in text.split("\n"):
        style = _STYLES.get(line[:1]) if colours else None
        print(f"\x1b[{style}m{printable(line)}\x1b[0m" if style else printable(line))
    return 0


def _iso(at: float | None) -> str | None:
    """Return a time of the store in ISO 8601."""
    return None if at is None else datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _list_row(run: Mapping[str, Any]) -> tuple[str, ...]:
    status = f"failed: {run['finish_reason']}" if run["status"] == "failed" else run["status"]
    started = str(run["started_at"])[5:16].replace("T", " ")
    return (run["run"], started, run["engine"], status, str(run["metric_calls"]), _gain(run))


def _cost(usd: float | None) -> str:
    from skynet.runs.report.show import dollars

    return "unknown" if usd is None else dollars(usd)


def _gain(run: Mapping[str, Any]) -> str:
    """Return the difference on test with its interval, and what the verdict made of it."""
    from skynet.runs.report.show import signed

    difference = run["difference"]
    if difference is None or difference["mean"] is None:
        return "-"
    figure = f"{signed(difference['mean'])} ({signed(difference['low'])} to {signed(difference['high'])})"
    return f"{figure}, rejected" if run["rejected"] else figure


def _print_run(found: StoredRun) -> None:
    from skynet.runs.report.show import duration, score
    from skynet.runs.report.words import finish_sentence, rejections_told

    run, row = found.to_json(), found.row
    reason = f", {run['finish_reason']}" if run["finish_reason"] else ""
    print(printable(f"Run {run['run']} of {run['name']}, engine {run['engine']}: {run['status']}{reason}"))
    took = None if row.ended_at is None else row.ended_at - row.started_at
    lasted = "" if took is None or took < 0 else f", took {duration(took)}"  # below 0: the clock was set back
    started = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(row.started_at))
    print(f"Started {started}{lasted}; {run['metric_calls']} metric calls, cost {_cost(run['cost_usd'])}\n")
    sides = {"start": (run["baseline"], ""), "best": (run["best"], run["best"]["version"] or "")}
    print_table(
        ("", "val", "test", "version"),
        [(name, score(side["val"]), score(side["test"]), version) for name, (side, version) in sides.items()],
    )
    told = told_of(found)
    print(printable(f"\n{told.title}\n{told.sentence}"))
    report = found.report or {}
    ending = "" if told.tone == "failed" else finish_sentence(run)
    for text in filter(None, (ending, rejections_told(report))):
        print(printable(text))
    for text in report.get("warnings", ()):
        print(printable(f"Warning: {text}"))
    if report.get("error"):
        print(printable(str(report["error"])))
    if run["report"]:
        print(f"Report: {run['report']}")
