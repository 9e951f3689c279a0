"""The state of a DSPy program, which is the content of a version."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def predictor_states(state: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the states of the predictors; the state of a bare dspy.Predict is that of its one predictor."""
    each = [state] if isinstance(state.get("demos"), list) else state.values()
    return [one for one in each if isinstance(one, dict) and "demos" in one]
