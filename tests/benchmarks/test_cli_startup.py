"""What starting takes: importing the library, printing the help, checking a project that needs no model."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.benchmarks.measure import medians_of_pairs

EMPTY_APP = """
import typer
app = typer.Typer(add_completion=False, rich_markup_mode=None)
@app.command()
def one(): ...
@app.command()
def two(): ...
app(["--help"])
"""
PAIRS = 11
LAZY = {"dspy", "gepa", "httpx", "jinja2", "litellm", "numpy", "openai", "sqlalchemy"}


def run_ms(*arguments: str) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    return (time.perf_counter() - started) * 1000


def modules_of(*arguments: str) -> set[str]:
    """Return the libraries that a command of ours holds at its end."""
    code = (
        f"import sys, json, skynet.cli.main as m\nsys.argv = ['skynet', *{list(arguments)!r}]\n"
        "try:\n    m.main()\nexcept SystemExit:\n    pass\nprint(json.dumps(list(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return {name.split(".")[0] for name in json.loads(done.stderr.splitlines()[-1])}


def test_importing_skynet_costs_little_beside_starting_python(capsys: pytest.CaptureFixture[str]) -> None:
    ours, bare, more = medians_of_pairs(lambda: run_ms("-c", "import skynet"), lambda: run_ms("-c", "pass"), PAIRS)
    with capsys.disabled():
        print(f"\nimport skynet {ours:.0f} ms, bare Python {bare:.0f} ms: {more:.1f} ms more")
    assert ours <= 1.5 * bare


def test_help_takes_at_most_twice_an_empty_typer_app(capsys: pytest.CaptureFixture[str]) -> None:
    ours, empty, _ = medians_of_pairs(
        lambda: run_ms("-m", "skynet.cli.main", "--help"), lambda: run_ms("-c", EMPTY_APP), PAIRS
    )
    with capsys.disabled():
        print(f"\nskynet --help {ours:.0f} ms, an empty Typer app {empty:.0f} ms: {ours / empty:.2f} times")
    assert ours <= 2 * empty
    assert modules_of("--help") & LAZY == set()


def test_a_check_without_a_model_takes_a_few_times_the_help(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(tmp_path / "project")
    run_ms("-m", "skynet.cli.main", "init", folder, "--template", "python")
    check, help_alone, _ = medians_of_pairs(
        lambda: run_ms("-m", "skynet.cli.main", "check", folder),
        lambda: run_ms("-m", "skynet.cli.main", "--help"),
        PAIRS,
    )
    with capsys.disabled():
        print(f"\nskynet check {check:.0f} ms, skynet --help {help_alone:.0f} ms: {check / help_alone:.1f} times")
    # It starts two templates and their workers, and prints with rich; a heavy import alone would be as much again.
    assert check <= 8 * help_alone
    assert modules_of("check", folder) & LAZY == set()
