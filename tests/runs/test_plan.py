from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from skynet.evaluation.amounts import Amounts
from skynet.evaluation.budget import Budget, BudgetSpent, Limits
from skynet.evaluation.project import Project
from skynet.runs.money import History
from skynet.runs.plan import CHECK_CALLS, BudgetTooSmall, Passes, left_to_pay, plan_passes, set_aside
from tests.projects import CHAT, model, write_project

from .plans import plan, rows, spec_of, write_plans

PASSES = Passes(Amounts(7), Amounts(10, 0.5, 100), Amounts(40, 2.0, 400))


def passes_of(folder: Path, given: Any = None) -> Passes:
    with Project(spec_of(folder, given)) as project:
        return plan_passes(project, project.start)


def test_the_passes_are_check_start_on_val_and_both_on_test(tmp_path: Path) -> None:
    found = passes_of(write_plans(tmp_path, plan("start"), data=rows(train=5, val=4, test=3)))
    assert [part.metric_calls for part in (found.check, found.start, found.sealed)] == [CHECK_CALLS, 4, 6]
    assert found.total == Amounts(CHECK_CALLS + 10)


def test_repeats_multiply_the_passes_and_not_the_check(tmp_path: Path) -> None:
    found = passes_of(write_plans(tmp_path, plan("start"), data=rows(train=5, val=4, test=3), repeats=3))
    assert [part.metric_calls for part in (found.check, found.start, found.sealed)] == [CHECK_CALLS, 12, 18]


def test_the_calls_of_a_chat_are_known_to_the_dollar(tmp_path: Path) -> None:
    more = model("http://127.0.0.1:1/v1", "task", price="{ input = 1000000.0, output = 0.0 }")
    found = passes_of(write_project(tmp_path, target=CHAT, start="Say it.", more=more))
    one = found.start.usd / 2
    assert 40 < one < 200  # a dollar for each byte of a short prompt, at most
    assert found.sealed.usd == pytest.approx(4 * one)
    assert found.start.tokens == pytest.approx(2 * (one + 2048), abs=1)
    longer = passes_of(write_project(tmp_path / "longer", target=CHAT, start="Say it." * 10, more=more))
    assert longer.start.usd == pytest.approx(found.start.usd + 2 * 63)


def test_the_dollars_of_another_target_are_not_known_beforehand(tmp_path: Path) -> None:
    more = model("http://127.0.0.1:1/v1", "task")
    assert passes_of(write_plans(tmp_path, plan("start"), more=more)).total.usd == 0.0


def test_what_is_set_aside_is_out_of_the_searchs_reach(tmp_path: Path) -> None:
    budget = Budget(Limits(metric_calls=60))
    set_aside(budget, PASSES)
    assert budget.remaining.metric_calls == 3
    budget.reserve(metric_calls=3)
    with pytest.raises(BudgetSpent):
        budget.reserve(metric_calls=1)
    assert budget.draw("sealed").reserve_each(40, metric_calls=1)


@pytest.mark.parametrize(
    ("limits", "named"),
    [
        (Limits(metric_calls=56), "metric_calls = 57 (7 for the contract check, 10 for the start on val, 40 for start"),
        (Limits(usd=2.49), "usd = 2.5000"),
        (Limits(tokens=499), "tokens = 500"),
    ],
)
def test_a_budget_that_is_too_small_holds_nothing_and_names_the_smallest(limits: Limits, named: str) -> None:
    budget = Budget(limits)
    with pytest.raises(BudgetTooSmall) as caught:
        set_aside(budget, PASSES)
    assert named in str(caught.value)
    assert "Nothing was spent" in str(caught.value)
    assert budget.remaining == Budget(limits).remaining
    assert budget.spent == Amounts()


@pytest.mark.parametrize("limits", [Limits(metric_calls=57), Limits(usd=2.5), Limits(tokens=500), Limits(seconds=1)])
def test_the_smallest_budget_does(limits: Limits) -> None:
    set_aside(Budget(limits), PASSES)


def history(metric_calls: int, tested: int = 0) -> History:
    return History(paid=Amounts(metric_calls), tested=tested, resumed=True)


@pytest.mark.parametrize(
    ("paid", "tested", "left"),
    [(0, 0, (7, 10, 40)), (5, 0, (2, 10, 40)), (12, 0, (0, 5, 40)), (30, 0, (0, 0, 40)), (40, 10, (0, 0, 30))],
)
def test_what_earlier_attempts_paid_is_not_held_again(paid: int, tested: int, left: tuple[int, int, int]) -> None:
    found = left_to_pay(PASSES, history(paid, tested), added=False)
    assert (found.check.metric_calls, found.start.metric_calls, found.sealed.metric_calls) == left


def test_dollars_are_held_in_proportion_to_what_is_left() -> None:
    assert left_to_pay(PASSES, history(12), added=False).start == Amounts(5, 0.25, 50)
