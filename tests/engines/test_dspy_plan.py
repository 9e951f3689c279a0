from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.dspy_options import OPTIMIZERS, DspyOptions
from engines.dspy_plan import PLANS, Plan, Sizes, TooSmall, least, plan_run, proposals, share

SIZES = st.builds(
    Sizes, budget=st.integers(0, 3000), train=st.integers(1, 200), val=st.integers(1, 200), predictors=st.integers(1, 4)
)


def options(name: str) -> DspyOptions:
    return DspyOptions(optimizer=name, labels=name in ("LabeledFewShot", "InferRules"))


def cost(name: str, sizes: Sizes, plan: Plan) -> int:
    """The most metric calls that the optimizer makes, by what it does in dspy 3.4."""
    rounds, batch, candidates, val = plan.rounds, plan.batch, plan.candidates, sizes.val
    if name == "SIMBA":
        return rounds * batch * (2 * candidates + 1) + (min(rounds, candidates) + 1) * plan.train + val
    if name == "COPRO":
        passes = sum(candidates * (1 if sizes.predictors == 1 else depth) for depth in range(1, rounds + 1))
        return passes * sizes.predictors * plan.train + val
    if name == "MIPROv2":
        full = rounds // 5 + 1
        return plan.train + (rounds * batch + full * val if batch < val else rounds * val)
    by_val = {"BootstrapFewShotWithRandomSearch": candidates + 1, "BootstrapFewShotWithOptuna": rounds,
              "InferRules": candidates, "BootstrapFewShot": 1}  # fmt: skip
    return plan.train + by_val[name] * val


@pytest.mark.parametrize("name", [name for name in PLANS if name not in ("GEPA", "LabeledFewShot")])
@given(sizes=SIZES)
def test_a_plan_fits_into_what_is_left(name: str, sizes: Sizes) -> None:
    plan = PLANS[name](sizes, options(name))
    assert (plan is None) == (sizes.budget < least(name, sizes, options(name)))
    if plan is not None:
        assert 1 <= plan.train <= sizes.train
        assert cost(name, sizes, plan) <= sizes.budget


@pytest.mark.parametrize("name", OPTIMIZERS)
@given(sizes=SIZES)
def test_a_proposal_is_promised_where_the_optimizer_can_begin_and_nowhere_else(name: str, sizes: Sizes) -> None:
    steps = options(name).used
    alone = name != "BetterTogether"
    left = replace(sizes, budget=sizes.budget if alone else share(sizes.budget, sizes.val, len(steps)))
    can_begin = all(left.budget >= least(step, sizes, options(name)) for step in steps)
    assert (proposals(sizes, options(name)) >= 1) == can_begin


@pytest.mark.parametrize("name", sorted(PLANS))
@given(sizes=SIZES)
def test_too_small_a_budget_is_told_with_the_smallest_that_would_do(name: str, sizes: Sizes) -> None:
    small = replace(sizes, budget=least(name, sizes, options(name)) - 1)
    with pytest.raises(TooSmall, match=f"and {small.budget} are left") as caught:
        plan_run(name, small, options(name))
    needed = re.findall(r"takes (\d+) metric calls", str(caught.value))
    assert needed == [str(small.budget + 1)]


def test_simba_takes_as_small_a_minibatch_as_it_is_given() -> None:
    plan = plan_run("SIMBA", Sizes(2000, 40, 20), DspyOptions(optimizer="SIMBA", minibatch_size=1))
    assert plan.batch == 1


@pytest.mark.parametrize(
    ("name", "given", "field", "most"),
    [
        ("MIPROv2", {"trials": 4}, "rounds", 4),
        ("SIMBA", {"trials": 2}, "rounds", 2),
        ("SIMBA", {"minibatch_size": 5}, "batch", 5),
        ("COPRO", {"candidates": 3}, "candidates", 3),
        ("BootstrapFewShotWithRandomSearch", {"candidates": 2}, "candidates", 2),
        ("GEPA", {"minibatch_size": 7}, "batch", 7),
    ],
)
def test_what_the_user_gives_is_the_most(name: str, given: dict[str, Any], field: str, most: int) -> None:
    plan = plan_run(name, Sizes(2000, 40, 20), DspyOptions(optimizer=name, **given))
    assert getattr(plan, field) == most


@given(sizes=SIZES, repeats=st.integers(1, 5))
def test_simba_pays_a_sample_with_one_metric_call_and_every_other_run_with_all_repetitions(
    sizes: Sizes, repeats: int
) -> None:
    plan = PLANS["SIMBA"](replace(sizes, repeats=repeats), options("SIMBA"))
    if plan is not None:
        samples = plan.rounds * plan.batch * plan.candidates
        assert samples + (cost("SIMBA", sizes, plan) - samples) * repeats <= sizes.budget * repeats


def test_simba_runs_on_more_cases_where_its_samples_are_cheaper() -> None:
    once, thrice = (PLANS["SIMBA"](Sizes(400, 40, 20, repeats=number), options("SIMBA")) for number in (1, 3))
    assert once is not None
    assert thrice is not None
    assert (once.train, thrice.train) == (20, 40)


def test_too_small_a_budget_is_told_in_metric_calls_of_all_repetitions() -> None:
    with pytest.raises(TooSmall, match="one proposal of GEPA takes 78 metric calls, and 75 are left"):
        plan_run("GEPA", Sizes(25, 40, 20, repeats=3), DspyOptions())


def test_every_optimizer_but_the_one_of_several_has_a_plan() -> None:
    assert set(PLANS) == set(OPTIMIZERS) - {"BetterTogether"}
