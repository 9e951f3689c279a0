"""A project whose runs are quick and end in a gain: a scripted model proposes the text that gets every case right."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from skynet.runs.result import RunResult
from skynet.runs.session import run_project
from skynet.spec import load_spec
from tests.loopback import ModelServer
from tests.projects import model, write_project

START = "Echo the text.\n"
BEST = "Write the text in UPPER case."
WORSE = "Echo the text twice."
RUN = """
def run(artifact, input):
    return input["text"].upper() if "UPPER" in artifact else input["text"]
"""
ROWS = [{"text": f"text {number}", "label": f"TEXT {number}"} for number in range(24)]
SEARCH = '[engine]\nname = "best_of_n"\nn = 2\n[budget]\nmetric_calls = 100\n[evaluation]\nconcurrency = 2\n'
SPLIT = "[data.split]\ntrain = 8\nval = 4\ntest = 12\n"


@contextmanager
def proposing() -> Iterator[ModelServer]:
    """Serve a reflection model that proposes BEST, and WORSE ever after."""
    server = ModelServer([f"```\n{BEST}\n```", f"```\n{WORSE}\n```"])
    try:
        yield server
    finally:
        server.close()


def write_searchable(folder: Path, url: str, more: str = "") -> Path:
    """Write the project; `url` is its reflection model's."""
    return write_project(folder, run=RUN, start=START, rows=ROWS, more=SPLIT + SEARCH + model(url) + more)


def finished_run(folder: Path) -> RunResult:
    """Write the project and run it to its verdict."""
    with proposing() as server:
        return run_project(load_spec(write_searchable(folder, server.url)))
