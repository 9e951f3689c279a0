"""The group `skynet models`: options only; the work is imported when a command runs."""

from __future__ import annotations

from typing import Annotated

import typer

from skynet.cli.options import HERE, AsJson, Directory

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Fetch, list and test models.")


@app.command()
def pull(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The embedded model to fetch.")] = "smollm2-135m",
) -> None:
    """Fetch an embedded model into the user's cache."""
    from skynet.cli.pull import run_pull_command

    raise typer.Exit(run_pull_command(name))


@app.command("list")
def list_models(directory: Directory = HERE, as_json: AsJson = False) -> None:
    """List the embedded models and those that the project names."""
    from skynet.cli.model_views import run_list_command

    raise typer.Exit(run_list_command(directory, as_json))


@app.command("test")
def call_models(directory: Directory = HERE, as_json: AsJson = False) -> None:
    """Call each of the project's models once, with a few words."""
    from skynet.cli.model_views import run_test_command

    raise typer.Exit(run_test_command(directory, as_json))
