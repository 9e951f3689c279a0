"""`skynet runs export` and `delete`: what writes files, or removes them."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from skynet.cli.run_views import opened_run, told_of
from skynet.errors import SkynetError

if TYPE_CHECKING:
    from skynet.runs.stored import StoredRun


def run_export_command(directory: Path, run: str, output: Path | None, apply: bool, accept: bool) -> int:
    """Print the best version, write it to `output`, or put it in the place of the project's artifact."""
    from skynet.runs.export import apply_best, own_form

    if apply and output is not None:
        raise SkynetError("-o PATH and --apply both say where to write; give one of them")
    if accept and not apply:
        raise SkynetError("--yes goes with --apply")
    with opened_run(directory, run) as (_, found):
        _warn(found)
        if apply:
            applied = apply_best(found, directory, accept)
            print(f"Wrote {applied.path}." if applied.written else f"{applied.path} holds the best version already.")
        elif output is not None:
            print(f"Wrote {_write(output, directory, found)}.")
        else:
            _print(own_form(found.version("best").artifact))
    return 0


def _write(output: Path, directory: Path, found: StoredRun) -> Path:
    """Write the best version: of a DSPy program a program file where a .py is asked for, else its own form."""
    from skynet.runs.export import write_artifact
    from skynet.runs.export_program import export_program

    best = found.version("best").artifact
    if best.kind == "dspy" and output.suffix == ".py":
        return export_program(output, best, directory / found.row.spec["artifact"]["path"])
    return write_artifact(output, best)


def _warn(found: StoredRun) -> None:
    """Say on stderr what the verdict was, where it was not a gain: who takes a version over should know."""
    told = told_of(found)
    if told.tone != "gain":
        print(f"Note: {told.title[0].lower()}{told.title[1:]}. {told.sentence}", file=sys.stderr)


def _print(text: str) -> None:
    """Print the text byte for byte; on a terminal the prompt begins on a line of its own."""
    sys.stdout.write(text)
    if sys.stdout.isatty() and not text.endswith("\n"):
        sys.stdout.write("\n")


def run_delete_command(directory: Path, run: str, accept: bool) -> int:
    """Delete a run's rows and its report's folder, after asking."""
    with opened_run(directory, run) as (store, found):
        name = found.row.id
        if not accept and not _agreed(found):
            print("Nothing was deleted.", file=sys.stderr)
            return 1
        store.delete_run(name)
        if found.folder.exists():
            shutil.rmtree(found.folder)
    print(f"Deleted run {name}.")
    return 0


def _agreed(found: StoredRun) -> bool:
    """Ask on a terminal. Raises SkynetError where nobody can answer."""
    import typer

    name = found.row.id
    if not sys.stdin.isatty():
        raise SkynetError(f"deleting run {name} cannot be undone; say --yes")
    tested = found.to_json()["baseline"]["test"] is not None
    seen = " Its test rows will no longer count as seen, although you have seen their scores." if tested else ""
    return typer.confirm(f"Delete run {name} with its versions, evaluations and report?{seen}")
