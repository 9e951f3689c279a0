"""`skynet demo`: the reviews example from nothing to its report, with an honest word about the gain at the end."""

from __future__ import annotations

import shlex
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skynet.cli.ending import USAGE
from skynet.cli.show import print_json
from skynet.errors import SkynetError

if TYPE_CHECKING:
    from skynet.runs.result import RunResult

TEMPLATE = "reviews"
LABELS = ("good", "bad")


def run_demo_command(directory: Path | None, as_json: bool, given: Mapping[str, Any]) -> int:
    """Write the example, fetch its model on first use, run it; `given` are spec tables that win over the example's."""
    from skynet.cli.run import drive, refused_json
    from skynet.runs.session import Given, Hooks, run_project
    from skynet.spec import load_spec

    try:
        folder = _written(directory)
        _ready_model()
        spec = load_spec(folder, given)
    except SkynetError as error:
        if as_json:
            print_json(refused_json(TEMPLATE, str(error)))
        print(f"Error: {error}", file=sys.stderr)
        return USAGE
    print(f"The example is in {folder}", file=sys.stderr)
    results: list[RunResult] = []

    def go(hooks: Hooks) -> RunResult:
        results.append(run_project(spec, Given(tables=given), hooks))
        return results[0]

    status = drive(spec.name, as_json, go)
    if results and not as_json:
        print(closing_words(results[0], folder))
    return status


def _written(directory: Path | None) -> Path:
    """Write the example into `directory`, or into a new folder that stays, since the report is in it."""
    from skynet.cli.init import write_project

    folder = Path(tempfile.mkdtemp(prefix="skynet-demo-")) if directory is None else directory
    write_project(folder, TEMPLATE)
    return folder


def _ready_model() -> None:
    from skynet.cli.pull import pull_model
    from skynet.models.local import library_problem
    from skynet.models.pull import SMOLLM2_135M

    problem = library_problem(SMOLLM2_135M.name)
    if problem is not None:
        raise SkynetError(problem)
    pull_model(SMOLLM2_135M)


def closing_words(result: RunResult, folder: Path) -> str:
    """Return what the run shows and what it does not, and where to look."""
    lines = ["", *_verdict(result), *_format(result)]
    lines.append(f"The example is in {folder}: see prompt.md, metric.py, skynet.toml.")
    lines.append(f"To go on with it: cd {shlex.quote(str(folder))}")
    return "\n".join(lines)


def _verdict(result: RunResult) -> list[str]:
    difference = result.difference
    if difference is None or difference["low"] is None:
        return ["No gain was measured."]
    interval = f"its 95 % interval is {difference['low']:+.2f} to {difference['high']:+.2f}"
    if difference["low"] > 0:
        return [f"The gain on the sealed test is {difference['mean']:+.2f}, and {interval}: more than chance."]
    return [f"The difference on the sealed test is {difference['mean']:+.2f}, and {interval}: that includes 0, so this "
            "run shows no gain."]  # fmt: skip


def _format(result: RunResult) -> list[str]:
    """Say how much of the gain is the form of the reply, counted on the test reviews."""
    cases = [case for case in result.data["cases"] if case["split"] == "test"]
    start, best = ([case[side]["output"] for case in cases if case[side]] for side in ("start", "best"))
    if not result.changed or not cases:
        return []
    bare = {"start": _bare(start), "best": _bare(best)}
    right = sum(1 for case in cases if case["best"] and case["best"]["score"] == 1.0)
    labels = [case["expected"]["label"] for case in cases]
    most = max(labels.count(label) for label in LABELS)
    return [
        f"Most of a gain here is form: the metric wants the bare label, the small model chats. {bare['start']} of "
        f"{len(start)} replies were a bare label at the start, {bare['best']} of {len(best)} with the best version.",
        f"Of those {right} were right; giving every review the same label would be right on {most} of {len(cases)}.",
    ]  # fmt: skip


def _bare(outputs: list[Any]) -> int:
    return sum(1 for output in outputs if isinstance(output, str) and output.strip() in LABELS)
