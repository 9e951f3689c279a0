"""Which of the two adaptable shapes an object has. Stdlib only: a metric worker asks before it loads anything else."""

from __future__ import annotations

from typing import Literal

Shape = Literal["typed", "toolkit"]


def shape_of(value: object) -> Shape | None:
    """Return "typed" or "toolkit" for an instance that `as_score` can adapt, else None; a class is no instance."""
    if isinstance(value, type):
        return None
    if callable(getattr(value, "compute_scores", None)) and callable(getattr(value, "output_spec", None)):
        return "typed"
    if callable(getattr(value, "evaluate_item", None)):
        return "toolkit"
    return None
