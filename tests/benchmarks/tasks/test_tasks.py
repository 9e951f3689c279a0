"""Every engine on every benchmark task, as one table: `make bench-tasks`. It fails where auto falls behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.embedded import embedded_model

from .bench import Bench, Instance, Row, measure, shortfall, table
from .function_repair import function_repair
from .hidden_rules import Flaws, rule_following
from .reviews import measure_reviews
from .two_predictors import measure_programs

__all__ = ["embedded_model"]

MARGIN = 0.03  # by so much of the best single engine's score auto may be worse
TASKS: dict[str, Callable[[int], Instance]] = {
    "rule following": partial(rule_following, flaws=Flaws()),
    "rules, 20 % wrong feedback": partial(rule_following, flaws=Flaws(wrong_feedback=0.2)),
    "rules, noise": partial(rule_following, flaws=Flaws(noise=0.3)),
    "function repair": function_repair,
}
BUDGETS = (300, 600)
SEEDS = 20


@pytest.fixture(scope="module")
def rows() -> Iterator[list[Row]]:
    found: list[Row] = []
    yield found
    print(f"\n\n{table(found)}\n")


def enter(rows: list[Row], found: list[Row]) -> None:
    rows.extend(found)
    assert shortfall(found) <= MARGIN, f"auto is behind the best single engine:\n{table(found)}"


@pytest.mark.timeout(600)
@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("task", TASKS)
def test_auto_keeps_up_on_a_scripted_task(rows: list[Row], task: str, budget: int) -> None:
    enter(rows, measure(Bench(task, TASKS[task], budget, SEEDS)))


@pytest.mark.timeout(900)
def test_auto_keeps_up_on_a_program_of_two_predictors(rows: list[Row]) -> None:
    enter(rows, measure_programs())


@pytest.mark.timeout(1200)
@pytest.mark.usefixtures("embedded_model")
def test_auto_keeps_up_on_reviews(rows: list[Row], tmp_path: Path) -> None:
    enter(rows, measure_reviews(tmp_path))
