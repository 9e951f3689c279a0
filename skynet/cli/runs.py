"""The group `skynet runs`: options only; the work is imported when a command runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from skynet.cli.options import HERE, AsJson, Directory, RunId

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="List, show, follow, resume, compare, export and delete runs.",
)


@app.command("list")
def list_runs(directory: Directory = HERE, as_json: AsJson = False) -> None:
    """List the project's runs, newest first."""
    from skynet.cli.run_views import run_list_command

    raise typer.Exit(run_list_command(directory, as_json))


@app.command()
def show(run: RunId, directory: Directory = HERE, as_json: AsJson = False) -> None:
    """Show how a run ended, or how far it is."""
    from skynet.cli.run_views import run_show_command

    raise typer.Exit(run_show_command(directory, run, as_json))


@app.command()
def diff(
    run: RunId,
    directory: Directory = HERE,
    versions: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="A B", help="Compare these versions: ids or their beginnings, `start`, `best`."),
    ] = None,
) -> None:
    """Print the unified diff from the start to the best version."""
    from skynet.cli.run_views import run_diff_command

    raise typer.Exit(run_diff_command(directory, run, versions or ("start", "best")))


@app.command()
def export(
    run: RunId,
    directory: Directory = HERE,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="PATH", help="Write here instead of printing.")
    ] = None,
    apply: Annotated[bool, typer.Option("--apply", help="Overwrite the project's artifact file.")] = False,
    accept: Annotated[
        bool, typer.Option("--yes", help="With --apply: also when that file changed since the run started.")
    ] = False,
) -> None:
    """Print the best version in its own form, or write it to a file."""
    from skynet.cli.run_files import run_export_command

    raise typer.Exit(run_export_command(directory, run, output, apply, accept))


@app.command()
def delete(
    run: RunId,
    directory: Directory = HERE,
    accept: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Delete everything that is stored of a run, its report too."""
    from skynet.cli.run_files import run_delete_command

    raise typer.Exit(run_delete_command(directory, run, accept))


@app.command()
def resume(
    run: RunId,
    directory: Directory = HERE,
    as_json: AsJson = False,
    add_budget: Annotated[
        list[str] | None,
        typer.Option("--add-budget", metavar="NAME=AMOUNT", help="Grant more, such as metric_calls=100; repeatable."),
    ] = None,
    accept: Annotated[
        bool, typer.Option("--yes", help="Go on although the dollars cannot be kept any more: a price is gone.")
    ] = False,
) -> None:
    """Go on where a run was; nothing that was paid is paid again."""
    from skynet.cli.run import run_resume_command

    raise typer.Exit(run_resume_command(directory, run, as_json, add_budget or [], accept))


@app.command()
def watch(run: RunId, directory: Directory = HERE) -> None:
    """Follow a run from another terminal until it ends."""
    from skynet.cli.driving import run_watch_command

    raise typer.Exit(run_watch_command(directory, run))


@app.command()
def cancel(run: RunId, directory: Directory = HERE) -> None:
    """Stop a run from another terminal; what it paid is kept."""
    from skynet.cli.driving import run_cancel_command

    raise typer.Exit(run_cancel_command(directory, run))
