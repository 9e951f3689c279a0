"""Programs through the door where each case is run several times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import dspy
import pytest

from engines.dspy_door import VAL, Door
from engines.dspy_examples import example
from engines.dspy_options import LABELS_NEEDED, OPTIMIZERS
from skynet.engine import Evaluation, TaskCase

from .programs import ProgramBooks, ProgramModels, judge, programs_task, run_dspy

pytestmark = pytest.mark.xdist_group("dspy")

REPEATS = 3
Metric = Callable[[Any, TaskCase], tuple[float, str]]


def varying() -> Metric:
    """A metric of its own mind: what is right scores 1 on the first repetition of a case, then 0.5, then 0."""
    seen: Counter[tuple[str, str]] = Counter()

    def metric(output: Any, case: TaskCase) -> tuple[float, str]:
        score, feedback = judge(output, case)
        seen[str(output), case.id] += 1
        return score * [1.0, 0.5, 0.0][(seen[str(output), case.id] - 1) % REPEATS], feedback

    return metric


def repeated(folder: Path, metric: Metric = judge, budget: int = 600, **changes: Any) -> ProgramBooks:
    return ProgramBooks(programs_task(folder, repeats=REPEATS, **changes), budget, metric)


@pytest.fixture
def door(tmp_path: Path) -> Any:
    """A door on three repetitions, with its books and a program of another version than the start."""
    books = repeated(tmp_path, varying())
    opened = Door(books.task, books.task.program, books, "a test", stride=20)  # type: ignore[arg-type]
    program = opened.program(books.task.start)
    program.signature = program.signature.with_instructions("beta is blue. gamma is green.")
    language_model = books.task.program.language_model("task", lambda request: ProgramModels().ask(request, "task"))  # type: ignore[union-attr]
    with dspy.context(lm=language_model, trace=None):
        yield opened, books, program


def test_a_programs_run_is_all_repetitions_of_the_case_and_its_value_their_mean(door: Any) -> None:
    _, books, program = door
    prediction = program(**example(books.task.val[1], VAL).inputs())
    assert (prediction.colour, prediction._value) == ("blue", 0.5)
    assert [name for _, name, _ in sorted(books.asked)] == ["v1", "v1 again 1", "v1 again 2"]
    program(**example(books.task.val[1], VAL).inputs())
    assert len(books.scored) == REPEATS


def test_a_sample_is_run_once(door: Any) -> None:
    _, books, program = door
    with dspy.context(lm=dspy.settings.lm.copy(rollout_id=4, temperature=1.0)):
        prediction = program(**example(books.task.val[1], VAL).inputs())
    assert prediction._value == 1.0
    assert [(name, occurrence) for _, name, occurrence in books.asked] == [("v1", 5)]


def test_the_trace_is_that_of_one_run(door: Any) -> None:
    _, books, program = door
    with dspy.context(trace=[]):
        program(**example(books.task.val[1], VAL).inputs())
        assert len(dspy.settings.trace) == 1


def some(number: int, score: float | None, failure: Any = None) -> Evaluation:
    status = "ok" if score is not None else "failed" if failure else "unmeasured"
    return Evaluation("v", "a", number, "val", status, score or 0.0, score, failure, steps=number)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("runs", "value", "steps"),
    [
        ([some(0, 1.0), some(1, 0.5), some(2, 0.0)], 0.5, 0),
        ([some(0, None), some(1, 0.5), some(2, 1.0)], 0.75, 1),
        ([some(0, None, "provider"), some(1, 0.5), some(2, 1.0)], 0.75, 1),
        ([some(0, None, "target"), some(1, 1.0)], 0.5, 1),
        ([some(0, None), some(1, None, "target")], 0.0, 1),
        ([some(0, None), some(1, None, "provider")], 1 / 3, 0),  # the start's mean
    ],
)
def test_a_repetition_that_measured_nothing_is_left_out_of_the_value(
    door: Any, runs: list[Evaluation], value: float, steps: int
) -> None:
    opened, _, _ = door
    whole = opened._keep(("v", "a", 0), runs)
    assert opened.value(whole) == pytest.approx(value)
    assert whole.steps == steps


def test_a_repetition_that_a_provider_failed_is_asked_for_again(door: Any) -> None:
    opened, _, _ = door
    opened._keep(("v", "a", 0), [some(0, 1.0), some(1, None, "provider")])
    assert opened._served_here(("v", "a", 0)) is None


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_every_version_of_an_optimizer_is_run_on_all_repetitions_of_val_within_the_budget(
    optimizer: str, tmp_path: Path
) -> None:
    labels = optimizer in LABELS_NEEDED
    books = repeated(tmp_path, labels="true" if labels else "")
    assert run_dspy(books.task, books, ProgramModels(), optimizer=optimizer, labels=labels) in ("done", "converged")
    assert books.proposed
    assert len(books.asked) <= 600
    places = {f"{case.id} again {number}" for case in books.task.val for number in (1, 2)}
    for version in books.proposed:
        assert {name for content, name, _ in books.asked if content == version.id} >= places


def test_what_a_budget_buys_is_told_in_metric_calls(tmp_path: Path) -> None:
    books = repeated(tmp_path, budget=35)
    assert run_dspy(books.task, books, ProgramModels(), optimizer="GEPA") == (
        "broken: the budget is too small: one proposal of GEPA takes 36 metric calls, and 33 are left for the search"
    )
    fits = replace(books, budget=36)
    assert run_dspy(books.task, fits, ProgramModels(), optimizer="GEPA") in ("done", "converged")
    assert len(fits.asked) <= 36
