from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.dspy_options import OPTIMIZERS, DspyOptions
from engines.dspy_plan import PLANS, Plan, Sizes, TooSmall, proposals

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
    if proposals(name, sizes, options(name)) == 0:
        with pytest.raises(TooSmall, match=f"and {sizes.budget} are left"):
            PLANS[name](sizes, options(name))
        return
    plan = PLANS[name](sizes, options(name))
    assert 1 <= plan.train <= sizes.train
    assert cost(name, sizes, plan) <= sizes.budget


@pytest.mark.parametrize("name", sorted(PLANS))
@given(sizes=SIZES)
def test_no_proposal_is_promised_where_the_optimizer_cannot_begin(name: str, sizes: Sizes) -> None:
    promised = proposals(name, sizes, options(name))
    if promised == 0:
        with pytest.raises(TooSmall):
            PLANS[name](sizes, options(name))
    else:
        assert PLANS[name](sizes, options(name)).train >= 1


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
    plan = PLANS[name](Sizes(2000, 40, 20), DspyOptions(optimizer=name, **given))
    assert getattr(plan, field) == most


def test_every_optimizer_but_the_one_of_several_has_a_plan() -> None:
    assert set(PLANS) == set(OPTIMIZERS) - {"BetterTogether"}
