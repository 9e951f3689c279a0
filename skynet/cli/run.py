"""`skynet run`: what the budget buys, a live view while it works, and the result; or one JSON object."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from skynet.cli.show import print_json
from skynet.errors import SkynetError

if TYPE_CHECKING:
    from skynet.runs.result import RunResult
    from skynet.runs.session import Hooks

FAILED = 1
USAGE = 2
INTERRUPTED = 130
EXIT = {"finished": 0, "stopped": 0, "failed": FAILED, "interrupted": INTERRUPTED, "cancelled": INTERRUPTED}


def run_run_command(
    directory: Path,
    as_json: bool,
    accept: bool,
    tables: Mapping[str, Any],
    accept_code: bool = False,
    fork: str | None = None,
) -> int:
    """Run the project in `directory`; return the exit status. `tables` win over the file's."""
    from skynet.runs.session import Given, run_project
    from skynet.spec import load_spec

    given = Given(accept=accept, accept_code=accept_code, tables=tables, fork=fork)
    return drive(directory.name, as_json, lambda hooks: run_project(load_spec(directory, tables), given, hooks))


def run_resume_command(directory: Path, run: str, as_json: bool, add_budget: Sequence[str]) -> int:
    """Go on with a stored run; return the exit status."""
    from skynet.runs.session import resume_run

    more = dict(parse_amount(text) for text in add_budget)
    return drive(run, as_json, lambda hooks: resume_run(directory, run, add_budget=more, hooks=hooks))


def parse_amount(text: str) -> tuple[str, float]:
    """Return name and amount of `metric_calls=100`. Raises SkynetError."""
    from skynet.runs.money import COUNTED

    name, _, amount = text.partition("=")
    try:
        value = float(amount) if name in ("usd", "seconds") else int(amount)
    except ValueError:
        value = 0
    if name not in COUNTED or value <= 0:
        raise SkynetError(
            f"--add-budget takes NAME=AMOUNT with a name of {', '.join(COUNTED)}, such as metric_calls=100; it got "
            f"{text!r}"
        )
    return name, value


def drive(name: str, as_json: bool, go: Callable[[Hooks], RunResult]) -> int:
    """Drive a run under a live view and print its result; return the exit status. `name` stands for a refused run."""
    from skynet.cli.live import LiveView
    from skynet.runs.session import Hooks

    view = LiveView(quiet=as_json)
    signal.signal(signal.SIGTERM, _interrupt)
    hooks = Hooks(view.on_stage, view.on_outlook, view.on_resumed, view.on_runner)
    try:
        with view:
            result = go(hooks)
    except SkynetError as error:
        if as_json:
            print_json(refused_json(name, str(error), view.run))
        print(f"Error: {error}", file=sys.stderr)
        return USAGE if view.run is None else FAILED
    if as_json:
        print_json(result.to_json() | {"error": result.message or None})
    else:
        print_result(result)
    return EXIT[result.status]


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Treat a polite kill like Ctrl-C: what was paid is kept, and the report says how to go on."""
    raise KeyboardInterrupt


def refused_json(name: str, message: str, run: str | None = None) -> dict[str, Any]:
    """Return the object of a run that was refused before anything was stored, or broke with its id known."""
    empty = {"val": None, "test": None}
    return {
        "run": run, "name": name, "status": "failed", "finish_reason": "error", "engine": None, "changed": False,
        "rejected": None, "baseline": empty, "best": {"version": None, **empty}, "difference": None,
        "metric_calls": 0 if run is None else None, "cost_usd": 0.0 if run is None else None, "report": None,
        "error": message,
    }  # fmt: skip


def print_result(result: RunResult) -> None:
    """Print how the run ended, what was gained, and how to go on."""
    from skynet.runs.report.words import headline

    told = headline(result.data)
    print(f"\n{told.title}\n{told.sentence}")
    if result.message:
        print(result.message)
    for warning in result.data["warnings"]:
        print(f"Warning: {warning}")
    print(f"Report: {result.report}")
    if result.status == "interrupted":
        print(f"Nothing that was paid is lost; go on with `skynet runs resume {result.run}`.")
    elif result.changed:
        print(f"Take the best version over with `skynet runs export {result.run} --apply`.")
