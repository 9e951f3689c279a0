"""`skynet run`: what the budget buys, a live view while it works, and the result; or one JSON object."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from skynet.cli.ending import FAILED, INTERRUPTED, USAGE
from skynet.cli.show import print_json
from skynet.errors import SkynetError

if TYPE_CHECKING:
    from skynet.runs.result import RunResult
    from skynet.runs.session import Hooks

EXIT = {"finished": 0, "stopped": 0, "failed": FAILED, "interrupted": INTERRUPTED, "cancelled": INTERRUPTED}
_MENDED = ("check_failed", "metric_broken")  # the project itself must change, and a changed one does not resume


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
    return drive(
        directory.absolute().name, as_json, lambda hooks: run_project(load_spec(directory, tables), given, hooks)
    )


def run_resume_command(
    directory: Path, run: str, as_json: bool, add_budget: Sequence[str], accept: bool = False
) -> int:
    """Go on with a stored run, or say how it ended; return the exit status."""
    from skynet.cli.run_views import opened_run, print_ended
    from skynet.runs.lock import RunDriven
    from skynet.runs.session import resume_run

    def go(hooks: Hooks) -> RunResult:
        more = dict(parse_amount(text) for text in add_budget)
        return resume_run(directory, run, add_budget=more, accept=accept, hooks=hooks)

    try:
        return drive(run, as_json, go, lambda result: print_ended(directory, result.run))
    except RunDriven as driven:
        if as_json:
            with opened_run(directory, run) as (_, found):
                print_json({**found.to_json(), "error": str(driven)})
        print(f"Error: {driven}", file=sys.stderr)
        return USAGE


def parse_amount(text: str) -> tuple[str, float]:
    """Return name and amount of `metric_calls=100`. Raises SkynetError."""
    from skynet.runs.granted import MOST_ADDED
    from skynet.runs.money import COUNTED

    name, _, amount = text.partition("=")
    try:
        value = float(amount) if name in ("usd", "seconds") else int(amount)
    except ValueError:
        value = 0
    if name not in COUNTED or not 0 < value <= MOST_ADDED:
        raise SkynetError(
            f"--add-budget takes NAME=AMOUNT with a name of {', '.join(COUNTED)} and an amount above 0 and at most "
            f"{MOST_ADDED:g}, such as metric_calls=100; it got {text!r}"
        )
    return name, value


def drive(
    name: str,
    as_json: bool,
    go: Callable[[Hooks], RunResult],
    on_ended: Callable[[RunResult], None] | None = None,
) -> int:
    """Drive a run under a live view and print its result; return the exit status. `name` stands for a refused run.

    `on_ended` prints the result of a run that needed no driving, since it had ended before.
    """
    from skynet.cli.live import LiveView
    from skynet.runs.lock import RunDriven
    from skynet.runs.session import Hooks

    view = LiveView(quiet=as_json)
    signal.signal(signal.SIGTERM, _interrupt)
    hooks = Hooks(view.on_stage, view.on_outlook, view.on_resumed, view.on_runner, view.on_notice)
    try:
        with view:
            result = go(hooks)
    except RunDriven:
        raise
    except SkynetError as error:
        if as_json:
            print_json(refused_json(name, str(error), view.run))
        print(f"Error: {error}", file=sys.stderr)
        return USAGE if view.run is None else FAILED
    except KeyboardInterrupt:  # before the run could take it, or once more while it was ending
        told = _interrupted(view.run)
        if as_json:
            print_json(refused_json(name, told, view.run) | {"status": "interrupted", "finish_reason": None})
        print(told, file=sys.stderr)
        return INTERRUPTED
    if as_json:
        print_json(result.to_json())
    elif view.run is None and on_ended is not None:
        on_ended(result)
    else:
        print_result(result)
    return EXIT[result.status]


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Treat a polite kill like Ctrl-C: what was paid is kept, and the report says how to go on."""
    raise KeyboardInterrupt


def _interrupted(run: str | None) -> str:
    if run is None:
        return "Interrupted before anything was started; nothing was spent."
    return f"Interrupted; what was paid is kept. Go on with `skynet runs resume {run}`."


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
    from skynet.runs.report.words import finish_sentence, headline, rejections_told

    told = headline(result.data)
    print(f"\n{told.title}\n{told.sentence}")
    if result.message:
        print(result.message)
    ending = "" if told.tone == "failed" else finish_sentence(result.data)
    for sentence in (ending, rejections_told(result.data)):
        if sentence:
            print(sentence)
    for warning in result.data["warnings"]:
        print(f"Warning: {warning}")
    if result.report is not None:
        print(f"Report: {result.report}")
    if result.status in ("interrupted", "cancelled"):
        print(f"Nothing that was paid is lost; go on with `skynet runs resume {result.run}`.")
    elif result.finish_reason in _MENDED:
        print(f"Mend it, and start anew: `skynet run --fork {result.run}` takes over what is still valid of this run.")
    elif result.finish_reason == "budget_too_small":
        grant = f"skynet runs resume {result.run} --add-budget NAME=N"
        print(f"Raise [budget] and run anew, or grant this run more: `{grant}`.")
    elif result.status == "failed":
        print(f"What was paid is kept; when the cause is gone, go on with `skynet runs resume {result.run}`.")
    elif result.changed:
        proved = result.difference is not None and (result.difference.low or 0.0) > 0
        doubt = "" if proved else "The gain may be chance. "
        print(f"{doubt}Take the best version over with `skynet runs export {result.run} --apply`.")
