"""The command `skynet`: options only. Each command's work is imported when the command runs, so `--help` stays fast."""

from __future__ import annotations

import io
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core

from skynet.cli import judge, models, runs
from skynet.cli.ending import INTERRUPTED, status_of
from skynet.cli.options import (
    HERE,
    Accept,
    AsJson,
    Directory,
    EngineName,
    Fork,
    MetricCalls,
    RunId,
    SkipBadRows,
    Trust,
    skipping,
)


class Commands(typer.core.TyperGroup):
    """The commands. Typer ends one that Ctrl-C stopped without a word."""

    def invoke(self, ctx: Any) -> object:
        """Run a command; say that it was interrupted where it did not say so itself."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            typer.echo("Interrupted.", err=True)
            raise typer.Exit(INTERRUPTED) from None


app = typer.Typer(
    cls=Commands,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Improve a prompt, a program or code against your own metric. Starts by proving that the metric works.",
)
app.add_typer(runs.app, name="runs")
app.add_typer(models.app, name="models")
app.add_typer(judge.app, name="judge")


class Template(StrEnum):
    """The projects that `skynet init` can write; each is a folder in `templates`."""

    PYTHON = "python"
    JUDGE = "judge"
    REWARD = "reward"
    REVIEWS = "reviews"
    CHAT = "chat"
    CODE = "code"
    PARTS = "parts"
    DSPY = "dspy"


def print_version(wanted: bool) -> None:
    if not wanted:
        return
    from importlib.metadata import version

    typer.echo(f"skynet {version('skynet-optimizer')}")
    raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """The options that stand before a command; the help text is the app's."""


@app.command()
def init(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The folder; made when missing.")] = Path("."),
    template: Annotated[Template, typer.Option(help="What kind of project to write.")] = Template.PYTHON,
) -> None:
    """Write a working project: skynet.toml, metric, target and data."""
    from skynet.cli.init import run_init_command

    raise typer.Exit(run_init_command(directory, template.value))


@app.command()
def check(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The folder with skynet.toml.")] = Path("."),
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")] = False,
    metric: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Check this metric alone, on --output; a spec in DIR gives its models and limits."
        ),
    ] = None,
    output: Annotated[
        str | None, typer.Option(metavar="TEXT", help="With --metric: the output to score, as text.")
    ] = None,
    output_json: Annotated[
        str | None, typer.Option(metavar="JSON", help="With --metric: the output to score, as JSON.")
    ] = None,
    input_json: Annotated[
        str | None, typer.Option("--input", metavar="JSON", help="With --metric: the input, a JSON object.")
    ] = None,
    expected: Annotated[
        str | None, typer.Option(metavar="JSON", help="With --metric: the expected value, a JSON object.")
    ] = None,
    skip_bad_rows: SkipBadRows = None,
) -> None:
    """Prove that the metric works before anything is spent."""
    from skynet.cli.check import run_check_command

    tables = skipping(skip_bad_rows)
    raise typer.Exit(run_check_command(directory, as_json, metric, output, output_json, input_json, expected, tables))


@app.command()
def run(
    directory: Directory = HERE,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object at the end, nothing else.")] = False,
    accept: Accept = False,
    metric_calls: MetricCalls = None,
    engine: EngineName = None,
    trust: Trust = False,
    fork: Fork = None,
    skip_bad_rows: SkipBadRows = None,
    detach: Annotated[bool, typer.Option("--detach", help="Run in a process of its own, as `submit` does.")] = False,
) -> None:
    """Search for a better version, and judge it on sealed test cases."""
    if detach:
        submit(directory, accept, metric_calls, engine, trust, fork, skip_bad_rows)
    from skynet.cli.run import run_run_command

    tables = skipping(skip_bad_rows)
    if metric_calls is not None:
        tables["budget"] = {"metric_calls": metric_calls}
    if engine is not None:
        tables["engine"] = engine
    raise typer.Exit(run_run_command(directory, as_json, accept, tables, trust, fork))


@app.command()
def submit(
    directory: Directory = HERE,
    accept: Accept = False,
    metric_calls: MetricCalls = None,
    engine: EngineName = None,
    trust: Trust = False,
    fork: Fork = None,
    skip_bad_rows: SkipBadRows = None,
) -> None:
    """Start a run in a process that outlives the terminal.

    It checks first, then prints the run's id.
    """
    from skynet.cli.driving import run_submit_command

    options = {
        "--metric-calls": metric_calls, "--engine": engine, "--fork": fork, "--skip-bad-rows": skip_bad_rows,
    }  # fmt: skip
    words = [word for name, value in options.items() if value is not None for word in (name, str(value))]
    words += [name for name, wanted in (("--yes", accept), ("--trust-artifacts", trust)) if wanted]
    raise typer.Exit(run_submit_command(directory, words))


@app.command("eval")
def evaluate(
    directory: Directory = HERE,
    as_json: AsJson = False,
    limit: Annotated[int | None, typer.Option(metavar="N", min=1, help="Evaluate the first N rows only.")] = None,
    concurrency: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Rows at a time, instead of the spec's.")
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Compare with an earlier job: its folder, or a NAME_eval_output.json."),
    ] = None,
    fail_under: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=X", help="Exit with 1 where the metric's average is under X; may be repeated."),
    ] = None,
    output_dir: Annotated[
        Path | None, typer.Option("--output-dir", "-o", metavar="DIR", help="Where to write the files.")
    ] = None,
    resume: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Go on with a job that was cut: the folder of its files.")
    ] = None,
    skip_bad_rows: SkipBadRows = None,
) -> None:
    """Score the rows of [eval] by its metrics; optimize nothing."""
    from skynet.cli.eval import run_eval_command

    status = run_eval_command(
        directory,
        as_json,
        skipping(skip_bad_rows),
        limit=limit,
        concurrency=concurrency,
        baseline=baseline,
        fail_under=fail_under or (),
        output_dir=output_dir,
        resume=resume,
    )
    raise typer.Exit(status)


class SplitName(StrEnum):
    """The splits of which a run has stored outputs."""

    TRAIN = "train"
    VAL = "val"
    TEST = "test"


@app.command()
def rescore(
    run: RunId,
    directory: Directory = HERE,
    metric: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The new metric's file; left out: the project's as it is now.")
    ] = None,
    versions: Annotated[
        list[str] | None,
        typer.Option("--version", metavar="NAME", help="A version: its id, start or best (both when left out)."),
    ] = None,
    splits: Annotated[
        list[SplitName] | None, typer.Option("--split", help="A split to score; val and test when left out.")
    ] = None,
    output_dir: Annotated[
        Path | None, typer.Option("--output-dir", "-o", metavar="DIR", help="Where to write the files.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Score a run's stored outputs by another metric.

    The target does not run.
    """
    from skynet.cli.rescore import run_rescore_command

    named = tuple(dict.fromkeys(versions or ("start", "best")))
    parts = tuple(dict.fromkeys(part.value for part in splits or (SplitName.VAL, SplitName.TEST)))
    raise typer.Exit(run_rescore_command(directory, run, metric, named, parts, output_dir, as_json))


@app.command()
def demo(
    directory: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="Where to write the example; left out: a temporary folder.")
    ] = None,
    as_json: AsJson = False,
    metric_calls: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="The budget in metric calls, instead of the example's.")
    ] = None,
) -> None:
    """Run an example from nothing to its report.

    A small model on this machine does it, without a key.
    """
    from skynet.cli.demo import run_demo_command

    given = {} if metric_calls is None else {"budget": {"metric_calls": metric_calls}}
    raise typer.Exit(run_demo_command(directory, as_json, given))


@app.command()
def versions(
    run: Annotated[
        str, typer.Argument(metavar="[ID]", help="The run's id or its beginning; left out: the newest.")
    ] = "",
    directory: Directory = HERE,
    as_json: AsJson = False,
) -> None:
    """List what a run's engine put forward."""
    from skynet.cli.versions import run_versions_command

    raise typer.Exit(run_versions_command(directory, run, as_json))


@app.command()
def engines(as_json: AsJson = False) -> None:
    """List the engines, their options, and whether they can run here."""
    from skynet.cli.engines import run_engines_command

    raise typer.Exit(run_engines_command(as_json))


@app.command()
def scorers(as_json: AsJson = False) -> None:
    """List the installed scorers, Skynet's own and those of plugins."""
    from skynet.cli.scorers import run_scorers_command

    raise typer.Exit(run_scorers_command(as_json))


@app.command()
def doctor(
    directory: Directory = HERE,
    as_json: AsJson = False,
    accept: Annotated[
        bool, typer.Option("--yes", help="Call each of the project's models once; the cost is shown before and after.")
    ] = False,
) -> None:
    """Say what is wrong on this machine, and how to repair it.

    Looks at the project, its engine and models, Python, packages, store, disk and clock.
    """
    from skynet.cli.doctor import run_doctor_command

    raise typer.Exit(run_doctor_command(directory, as_json, accept))


def main() -> None:
    """Run the command line and exit. An error that a command lets through is a refusal: its message, status 2."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # a terminal that lacks a letter shows its escape
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.exit(status_of(lambda: app(prog_name="skynet", standalone_mode=False), "--json" in sys.argv[1:]))


if __name__ == "__main__":
    main()
