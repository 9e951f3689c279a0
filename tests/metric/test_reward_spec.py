from __future__ import annotations

import copy
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skynet.metric.reward_spec import PARTS, RewardError, check_reward_spec

FULL: dict[str, Any] = {
    "weights": {"accuracy": 0.7, "speed": 0.2, "cost": 0.1},
    "accuracy": {},
    "speed": {"reference": 2000},
    "cost": {"reference": 0.01},
}
MISSING = object()


def changed(place: str, value: object) -> dict[str, Any]:
    """Return FULL with the value at a dotted place replaced, or taken out."""
    spec = copy.deepcopy(FULL)
    *folders, last = place.split(".")
    holder: dict[str, Any] = spec
    for folder in folders:
        holder = holder[folder]
    if value is MISSING:
        del holder[last]
    else:
        holder[last] = value
    return spec


def test_a_full_spec_is_read() -> None:
    spec = check_reward_spec(FULL)
    assert spec.weights == pytest.approx({"accuracy": 0.7, "speed": 0.2, "cost": 0.1})
    assert spec.references == {"speed": 2000.0, "cost": 0.01}
    assert spec.parts == PARTS


@pytest.mark.parametrize("weights", [(7, 2, 1), (True + 6, Decimal(2), np.float32(1)), (7e307, 2e307, 1e307)])
def test_weights_are_scaled_to_add_up_to_one(weights: Any) -> None:
    spec = check_reward_spec({**FULL, "weights": dict(zip(PARTS, weights, strict=True))})
    assert list(spec.weights.values()) == pytest.approx([0.7, 0.2, 0.1])


def test_a_part_of_weight_zero_needs_no_section() -> None:
    spec = check_reward_spec({"weights": {"accuracy": 1, "speed": 0, "cost": 0}})
    assert spec.parts == ("accuracy",)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (None, "REWARD_SPEC must be a dict.*it is None"),
        ([], "REWARD_SPEC must be a dict"),
        ({}, "REWARD_SPEC has no weights"),
        (changed("weights", [1, 2, 3]), "REWARD_SPEC.weights must be a dict"),
        *((changed(f"weights.{part}", MISSING), f"REWARD_SPEC.weights has no {part}") for part in PARTS),
        (changed("weights.speed", -0.1), "REWARD_SPEC.weights.speed is -0.1. It must be a number of 0 or more"),
        (changed("weights.speed", True), "REWARD_SPEC.weights.speed is True"),
        (changed("weights.cost", "0.1"), "REWARD_SPEC.weights.cost is a string"),
        (changed("weights.cost", None), "REWARD_SPEC.weights.cost is not a number: it is None"),
        (changed("weights.cost", math.nan), "REWARD_SPEC.weights.cost is NaN"),
        (changed("weights.cost", math.inf), "REWARD_SPEC.weights.cost is infinite"),
        (changed("weights", dict.fromkeys(PARTS, 0)), "All of REWARD_SPEC.weights are 0"),
        (changed("weights.sped", 1), "REWARD_SPEC.weights has the unknown key 'sped'. Did you mean 'speed'"),
        (changed("weight", {}), "REWARD_SPEC has the unknown key 'weight'. Did you mean 'weights'"),
        (changed("speed.referense", 1), "REWARD_SPEC.speed has the unknown key 'referense'. Did you mean 'reference'"),
        (dict([*FULL.items(), (3, 1)]), "unknown key 3"),
        (changed("speed", MISSING), "REWARD_SPEC has no speed.reference.*milliseconds"),
        (changed("cost.reference", MISSING), "REWARD_SPEC has no cost.reference.*US dollars"),
        (changed("speed", 2000), "REWARD_SPEC.speed must be a dict"),
        (changed("accuracy", None), "REWARD_SPEC.accuracy must be a dict"),
        (changed("speed.reference", 0), "REWARD_SPEC.speed.reference is 0. It must be a positive number of millisec"),
        (changed("cost.reference", -1), "REWARD_SPEC.cost.reference is -1"),
        (changed("cost.reference", "0.01"), "REWARD_SPEC.cost.reference is a string"),
        (changed("cost.reference", True), "REWARD_SPEC.cost.reference is True"),
        (changed("cost.reference", math.nan), "REWARD_SPEC.cost.reference is NaN"),
        (changed("cost.reference", math.inf), "REWARD_SPEC.cost.reference is infinite"),
        (changed("cost.reference", None), "REWARD_SPEC.cost.reference is not a number: it is None"),
        (changed("accuracy.reference", 0), "REWARD_SPEC.accuracy.reference is 0. It must be a positive number"),
        (
            {"weights": {"accuracy": 1, "speed": 0, "cost": 0}, "speed": {"reference": 0}},
            "REWARD_SPEC.speed.reference is 0",
        ),
    ],
)
def test_a_spec_that_cannot_be_used_is_refused_by_part(spec: Any, words: str) -> None:
    with pytest.raises(RewardError, match=words):
        check_reward_spec(spec)


@given(st.lists(st.floats(0, allow_infinity=False), min_size=3, max_size=3).filter(any))
def test_any_usable_weights_add_up_to_one(weights: list[float]) -> None:
    spec = check_reward_spec({**FULL, "weights": dict(zip(PARTS, weights, strict=True))})
    assert sum(spec.weights.values()) == pytest.approx(1.0)
