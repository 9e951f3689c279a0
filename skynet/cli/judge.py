"""The group `skynet judge`: options only; the work is imported when a command runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from skynet.cli.options import HERE, AsJson, Directory

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Hold a judge against human labels.")


@app.callback()
def group() -> None:
    """A group of one command is still a group."""


@app.command()
def calibrate(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Rows with outputs and human labels: CSV or JSONL.")],
    directory: Directory = HERE,
    labels: Annotated[
        list[str] | None, typer.Option("--label", metavar="COLUMN", help="A person's labels; once for each person.")
    ] = None,
    output: Annotated[str, typer.Option(metavar="COLUMN", help="The outputs to judge.")] = "output",
    inputs: Annotated[
        list[str] | None,
        typer.Option("--input", metavar="COLUMN", help="An input column; left out: the project's."),
    ] = None,
    expected: Annotated[
        list[str] | None,
        typer.Option("--expected", metavar="COLUMN", help="An expected column; left out: the project's."),
    ] = None,
    metric: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The judge's metric file, instead of the project's.")
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(metavar="X", help="Labels are numbers; pass is X or more, for people and judge.")
    ] = None,
    limit: Annotated[int | None, typer.Option(metavar="N", min=1, help="Use the first N rows only.")] = None,
    as_json: AsJson = False,
) -> None:
    """Compare the project's judge with people, and with itself.

    It is asked about each row twice.
    """
    from skynet.cli.calibration import run_calibrate_command
    from skynet.evaluation.labelled_rows import Columns

    columns = Columns(labels or ["label"], output, inputs, expected)
    raise typer.Exit(run_calibrate_command(file, directory, columns, metric, threshold, limit, as_json))
