"""Views: several signals of one case reduced to one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, TypeAlias

from skynet.summary.aggregate import mean_of

Missing: TypeAlias = Literal["unmeasured", "drop", "zero"]
MISSING: tuple[Missing, ...] = ("unmeasured", "drop", "zero")
VIEWS = ("single", "all", "any", "mean", "weighted_mean")


def reduce_view(
    view: str,
    signals: Sequence[float | None],
    *,
    weights: Sequence[float | None] | None = None,
    missing: Missing = "unmeasured",
) -> float | None:
    """Return the view of the signals; None where it is unmeasured.

    single: the first signal; all: the smallest; any: the largest; weighted_mean: a weight of None is 1. A signal that
    is None, NaN or infinite makes the view unmeasured, is dropped with its weight, or counts as 0. Without any signal,
    and with weights that add up to 0, it is unmeasured. Raises ValueError for an unknown view.
    """
    if view not in VIEWS:
        raise ValueError(f"there is no view {view!r}; there are {', '.join(VIEWS)}")
    weighed = list(zip(map(_measured, signals), weights or [None] * len(signals), strict=True))
    if view == "single":
        weighed = weighed[:1]
    if missing == "drop":
        weighed = [(signal, weight) for signal, weight in weighed if signal is not None]
    values = [0.0 if signal is None and missing == "zero" else signal for signal, _ in weighed]
    measured = [value for value in values if value is not None]
    if not measured or len(measured) < len(values):
        return None
    if view == "weighted_mean":
        return _weighted_mean(measured, [1.0 if weight is None else weight for _, weight in weighed])
    if view == "mean":
        return mean_of(measured)
    return {"single": measured[0], "all": min(measured), "any": max(measured)}[view]


def _measured(signal: float | None) -> float | None:
    return float(signal) if signal is not None and math.isfinite(signal) else None


def _weighted_mean(values: Sequence[float], weights: Sequence[float]) -> float | None:
    total = math.fsum(weights)
    if total <= 0:
        return None
    mean = math.fsum(value * (weight / total) for value, weight in zip(values, weights, strict=True))
    return min(max(mean, min(values)), max(values))  # rounding may step over
