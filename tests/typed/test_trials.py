from __future__ import annotations

import math
from typing import Any

import pytest
from pydantic import ValidationError

from skynet.typed import AgentEvalTrial, AgentEvalTrialStatus, TrialMeasurements


def test_measurements_are_complete_and_absent_ones_are_none() -> None:
    found = TrialMeasurements(prompt_tokens=0, runtime_sec=0.0).model_dump(mode="json")
    assert found == {
        "prompt_tokens": 0, "completion_tokens": None, "total_tokens": None, "cache_creation_tokens": None,
        "cache_read_tokens": None, "runtime_sec": 0.0, "cost_usd": None, "reward": None, "passed": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("given", "total"),
    [
        ({"prompt_tokens": 3, "completion_tokens": 4}, 7),
        ({"prompt_tokens": 0, "completion_tokens": 0}, 0),
        ({"prompt_tokens": 3}, None),
        ({"total_tokens": 9}, 9),
        ({"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 9}, 9),
    ],
)
def test_the_total_is_filled_in_when_both_parts_are_known(given: dict[str, int], total: int | None) -> None:
    assert TrialMeasurements.model_validate(given).total_tokens == total


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("prompt_tokens", -1), ("prompt_tokens", True), ("prompt_tokens", "3"), ("total_tokens", 1.5),
        ("runtime_sec", True), ("cost_usd", math.nan), ("cost_usd", -0.1), ("reward", math.inf), ("reward", False),
        ("passed", 1), ("passed", "yes"), ("tokens", 1),
    ],
)  # fmt: skip
def test_a_value_that_is_no_measurement_is_refused(name: str, value: Any) -> None:
    with pytest.raises(ValidationError):
        TrialMeasurements.model_validate({name: value})


def test_a_completed_trial_needs_an_output() -> None:
    with pytest.raises(ValidationError, match="no output"):
        AgentEvalTrial(id="1", task_id="t", status=AgentEvalTrialStatus.COMPLETED)
