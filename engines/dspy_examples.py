"""Cases as dspy's examples: inputs and the case's name; expected values only in the labelled ones."""

from __future__ import annotations

from typing import Any

import dspy

from skynet.engine import LabelledCase, TaskCase

from .dspy_door import CASE


def example(case: TaskCase, split: str) -> Any:
    """Return the example of a case: an optimizer finds no label in it."""
    inputs = {**case.input, CASE: split + case.id}
    return dspy.Example(**inputs).with_inputs(*inputs)


def labelled_example(case: LabelledCase, split: str) -> Any:
    """Return the example of a case with its expected values as labels."""
    inputs = {**case.input, CASE: split + case.id}
    return dspy.Example(**{**case.expected, **inputs}).with_inputs(*inputs)
