"""A whole gepa search on our books against the library's own with its run_dir: no proposal is ever better."""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import Any

import pytest

from engines.gepa import Gepa, GepaOptions
from skynet.engine import SearchTask
from skynet.evaluation.evaluator import task_cases
from tests.benchmarks.fakes import cases, doors
from tests.engines.host import ScriptedModels

CALLS = 5_000
VAL, TRAIN = cases(100), cases(50, first=100)


def ours(path: Path, proposals: int) -> tuple[float, int]:
    """Search until so many proposals were tried; return the seconds, and the metric calls that were paid for it."""
    started = time.perf_counter()
    with doors(path, TRAIN, VAL) as own:
        task = SearchTask(
            kind="text", target="python", start=own.start, objective="Answer well.", background="",
            train=task_cases({case.id: case for case in TRAIN}), val=task_cases({case.id: case for case in VAL}),
            seed=0, maximum=1.0, labelled_train=(), output_column=None, check=lambda content: None,
        )  # fmt: skip
        models = ScriptedModels(lambda prompt, number: f"Answer well, attempt {number}.")
        Gepa().search(task, own.evaluator, models, GepaOptions(max_proposals=proposals))
        paid = own.books.journal.count("evaluation")
    assert len(models.prompts) == proposals
    return time.perf_counter() - started, paid


def theirs(folder: Path) -> tuple[float, int]:
    """Run the library's own search for CALLS metric calls; return the seconds, and how many proposals it tried."""
    from gepa.optimize_anything import EngineConfig, GEPAConfig, ReflectionConfig, optimize_anything

    attempts = iter(range(10**9))

    def evaluate(candidate: Any, example: Any = None) -> tuple[float, dict[str, Any]]:
        return 0.5, {"feedback": f"Expected {example.expected['team']}, the answer was about something else."}

    def reflect(prompt: Any) -> str:
        return f"```\nAnswer well, attempt {next(attempts)}.\n```"

    started = time.perf_counter()
    result = optimize_anything(
        seed_candidate="start",
        evaluator=evaluate,
        dataset=TRAIN,
        valset=VAL,
        objective="Answer well.",
        config=GEPAConfig(
            engine=EngineConfig(run_dir=str(folder), max_metric_calls=CALLS, seed=0),
            reflection=ReflectionConfig(reflection_lm=reflect, reflection_minibatch_size=3),
        ),
    )
    seconds = time.perf_counter() - started
    assert (result.total_metric_calls or 0) >= CALLS
    assert len(result.candidates) == 1
    return seconds, next(attempts)


@pytest.mark.timeout(900)
def test_a_gepa_search_takes_a_tenth_of_the_librarys_own_with_its_run_dir(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ours(tmp_path / "warm.db", 10)  # imports
    library, proposals = theirs(tmp_path / "library")
    half, _ = ours(tmp_path / "half.db", proposals // 2)
    taken = [ours(tmp_path / f"{number}.db", proposals) for number in range(3)]
    whole, paid = statistics.median(seconds for seconds, _ in taken), taken[0][1]
    with capsys.disabled():
        print(
            f"\n{proposals} proposals, none accepted: gepa with its run_dir {library:.2f} s and {CALLS:,} calls, "
            f"ours {whole:.2f} s and {paid:,} paid: {library / whole:.1f} times; half as many proposals {half:.2f} s"
        )
    assert library >= 10 * whole
    assert whole <= 3 * half
