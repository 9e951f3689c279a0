from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skynet.evaluation.amounts import Amounts
from skynet.evaluation.budget import Budget, BudgetSpent, Limits
from skynet.evaluation.project import Project
from skynet.runs.case_costs import CaseCost
from skynet.runs.plan import (
    CHECK_CALLS,
    BudgetTooSmall,
    Cost,
    Passes,
    at_dearest,
    left_to_pay,
    plan_passes,
    refuse_small,
    set_aside,
    shown,
    with_measured,
)
from tests.projects import CHAT, model, write_project

from .plans import plan, rows, spec_of, write_plans

PASSES = Passes(Cost(7), Cost(10, {"task": 0.5}, 100), Cost(40, {"task": 1.5, "metric": 0.5}, 400))


def passes_of(folder: Path, given: Any = None) -> Passes:
    with Project(spec_of(folder, given)) as project:
        return plan_passes(project, project.start)


def test_the_passes_are_check_start_on_val_and_both_on_test(tmp_path: Path) -> None:
    found = passes_of(write_plans(tmp_path, plan("start"), data=rows(train=5, val=4, test=3)))
    assert [part.metric_calls for part in (found.check, found.start, found.sealed)] == [CHECK_CALLS, 4, 6]
    assert found.total == Cost(CHECK_CALLS + 10)


def test_repeats_multiply_the_passes_and_not_the_check(tmp_path: Path) -> None:
    found = passes_of(write_plans(tmp_path, plan("start"), data=rows(train=5, val=4, test=3), repeats=3))
    assert [part.metric_calls for part in (found.check, found.start, found.sealed)] == [CHECK_CALLS, 12, 18]


def test_the_calls_of_a_chat_are_known_to_the_dollar(tmp_path: Path) -> None:
    more = model("http://127.0.0.1:1/v1", "task", price="{ input = 1000000.0, output = 0.0 }")
    found = passes_of(write_project(tmp_path, target=CHAT, start="Say it.", more=more))
    one = found.start.usd["task"] / 2
    assert 40 < one < 200  # a dollar for each byte of a short prompt, at most
    assert found.check.usd["task"] == pytest.approx(3 * one)
    assert found.sealed.usd["task"] == pytest.approx(4 * one)
    assert found.start.tokens == pytest.approx(2 * (one + 2048), abs=1)
    longer = passes_of(write_project(tmp_path / "longer", target=CHAT, start="Say it." * 10, more=more))
    assert longer.start.usd["task"] == pytest.approx(found.start.usd["task"] + 2 * 63)


def test_the_dollars_of_another_target_are_not_known_beforehand(tmp_path: Path) -> None:
    more = model("http://127.0.0.1:1/v1", "task")
    assert passes_of(write_plans(tmp_path, plan("start"), more=more)).total.usd == {}


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
        (Limits(usd=2.49), "usd = 2.5000 (0.0000 for the contract check, 0.5000 for the start on val, 2.0000 for"),
        (Limits(tokens=499), "tokens = 500 (0 for"),
        (Limits(usd_by_role={"task": 1.99, "metric": 0.5}), "usd_by_role.task = 2.0000 ("),
        (Limits(usd=1, tokens=9), "usd = 2.5000 (0.0000 for the contract check, 0.5000 for the start on val, 2.0000 "
         "for start and best on test) and tokens = 500 ("),
    ],
)  # fmt: skip
def test_a_budget_that_is_too_small_names_the_smallest_that_would_do(limits: Limits, named: str) -> None:
    with pytest.raises(BudgetTooSmall) as caught:
        refuse_small(limits, PASSES, "Nothing was spent.")
    assert named in str(caught.value)
    assert str(caught.value).endswith("Nothing was spent.")


@pytest.mark.parametrize(
    "limits",
    [Limits(57), Limits(usd=2.5), Limits(tokens=500), Limits(usd_by_role={"task": 2, "metric": 0.5}),
     Limits(seconds=1)],
)  # fmt: skip
def test_the_smallest_budget_does(limits: Limits) -> None:
    refuse_small(limits, PASSES, "")
    budget = Budget(limits)
    set_aside(budget, PASSES)
    assert budget.draw("sealed").left == PASSES.sealed.amounts


@settings(max_examples=300, deadline=None)
@given(usd=st.floats(0.0, 1e4))
def test_named_dollars_are_enough_and_close(usd: float) -> None:
    named = float(shown("usd", usd))
    assert round(named * 1e12) >= round(usd * 1e12)
    assert named - usd <= max(1e-12, min(1e-4, usd / 90))


def test_what_was_measured_is_held_at_twice_the_dearest_case() -> None:
    costs = {"metric": CaseCost(usd=0.01, tokens=7, call_usd=0.02, call_tokens=20)}
    found = with_measured(PASSES, costs, at_once=4)
    assert found.check == PASSES.check
    assert found.start.usd == {"task": 0.5, "metric": pytest.approx(0.2)}
    assert found.sealed.usd == {"task": 1.5, "metric": pytest.approx(0.5 + 0.8)}
    assert (found.start.tokens, found.sealed.tokens) == (100 + 150, 400 + 560)


@pytest.mark.parametrize(("evaluations", "usd"), [(0, 0.0), (1, 1.01), (4, 4.04), (8, 4.08), (400, 8.0), (600, 12.0)])
def test_the_calls_under_way_must_fit_beside_the_cases(evaluations: int, usd: float) -> None:
    found = at_dearest({"task": CaseCost(usd=0.01, call_usd=1.0)}, evaluations, at_once=4)
    assert found.usd["task"] == pytest.approx(usd)


@pytest.mark.parametrize(
    ("early", "tested", "left"),
    [(0, 0, (7, 10, 40)), (5, 0, (2, 10, 40)), (12, 0, (0, 5, 40)), (30, 0, (0, 0, 40)), (30, 10, (0, 0, 30))],
)
def test_what_was_paid_is_not_held_again(early: int, tested: int, left: tuple[int, int, int]) -> None:
    found = left_to_pay(PASSES, early, tested, added=False)
    assert (found.check.metric_calls, found.start.metric_calls, found.sealed.metric_calls) == left


def test_dollars_are_held_in_proportion_to_what_is_left() -> None:
    assert left_to_pay(PASSES, 12, 0, added=False).start == Cost(5, {"task": 0.25}, 50)


def test_less_is_held_where_there_is_less() -> None:
    budget = Budget(Limits(metric_calls=50, usd=1.0, usd_by_role={"task": 0.75}), spent=Amounts(30, 0.4))
    set_aside(budget, PASSES)
    assert budget.draw("check").left == Amounts(7)
    assert budget.draw("start").left == Amounts(10, 0.5, 100)
    assert budget.draw("sealed").left == Amounts(3, 0.1, 400)
    assert budget.draw("sealed").remaining.usd_by_role == {"task": 0.25}
