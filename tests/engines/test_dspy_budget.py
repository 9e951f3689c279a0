"""The smallest budgets that dspy's optimizers begin with, and what is said below them."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from engines.dspy import Dspy
from engines.dspy_options import OPTIMIZERS, DspyOptions
from skynet.engine import SearchBroken

from .programs import ONE, ProgramBooks, ProgramModels, programs_task, run_dspy
from .test_dspy import LABELLED, TWO

pytestmark = pytest.mark.xdist_group("dspy")


@pytest.mark.parametrize("program", [ONE, TWO], ids=["one predictor", "two predictors"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_an_optimizer_begins_with_the_fewest_metric_calls_that_the_estimate_promises_something_for(
    optimizer: str, program: str, tmp_path: Path
) -> None:
    labels = optimizer in LABELLED
    task, options = programs_task(tmp_path, program, labels="true"), DspyOptions(optimizer=optimizer, labels=labels)
    least = next(budget for budget in count(1) if Dspy().estimate(task, budget, options))
    books = ProgramBooks(task, least)
    assert run_dspy(task, books, ProgramModels(), optimizer=optimizer, labels=labels) in ("done", "converged")
    assert 0 < len(books.asked) <= least

    books = ProgramBooks(task, least - 1)
    with pytest.raises(SearchBroken, match=f"takes {least} metric calls, and {least - 1} are left") as caught:
        Dspy().search(task, books, ProgramModels(), options)
    assert caught.value.reason == "budget_metric_calls"
    assert books.notes == [f"Nothing was tried: {str(caught.value).removeprefix('the budget is too small: ')}."]
    assert not books.asked
