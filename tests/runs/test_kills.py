"""A run that is killed at any moment goes on exactly; the benchmark of the same name kills two hundred."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from skynet.runs.engines import list_engines
from tests.loopback import ModelServer
from tests.runs.cut_runs import HUNGRY, WORDS, Drivers, answer, run_ids, told, write_loud_project
from tests.runs.kill_trials import killed_and_resumed, whole_run


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    model = ModelServer(answer)
    yield model
    model.close()


@pytest.mark.parametrize(("engine", "trials"), [("gepa", 2), ("demos", 2), ("best_of_n", 1), ("auto", 1), ("dspy", 1)])
def test_a_run_killed_at_random_moments_ends_as_one_that_was_left_alone(
    drivers: Drivers, server: ModelServer, tmp_path: Path, engine: str, trials: int
) -> None:
    if engine not in {known.name for known in list_engines()}:
        pytest.skip(f"the engine {engine} is not installed")
    whole = whole_run(drivers, server, tmp_path / "whole", engine)
    rng = random.Random(f"{engine} 1")
    for number in range(trials):
        killed_and_resumed(drivers, server, tmp_path / str(number), engine, whole, rng)


@pytest.mark.parametrize("commit", [8, 24, 50])
def test_a_run_of_the_smallest_budget_that_is_killed_ends_within_it(
    drivers: Drivers, server: ModelServer, tmp_path: Path, commit: int
) -> None:
    server.reply = answer  # the trials had it speak for the engine's own project
    smallest = 7 + 3 * len(WORDS)
    folder = write_loud_project(tmp_path, server.url, HUNGRY["gepa"], budget=f"metric_calls = {smallest}")
    drivers.do("run", folder, "--yes", kill=(commit, "after"))
    (run,) = run_ids(folder)
    ended = drivers.do("runs", "resume", run, folder, "--json")
    assert ended.status == 0, ended.err
    assert ended.json["status"] == "stopped"
    assert told(folder, server).scored.total() <= ended.json["metric_calls"] <= smallest
