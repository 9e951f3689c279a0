"""What a report says of one column of numbers or labels: counts, moments, percentiles, histogram, distribution."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

BINS = 10
PERCENTILES = range(10, 101, 10)


@dataclass(frozen=True, slots=True)
class Bin:
    """One bar of a histogram: lower <= value < upper; the last bar includes its upper bound."""

    lower_bound: float
    upper_bound: float
    count: int


@dataclass(frozen=True, slots=True)
class Aggregate:
    """The statistics of one output. `count` values were finite; `nan_count` were missing, NaN or infinite.

    A figure is None when there is no value to take it from (the sample figures need two) or when it leaves the range
    of a float. std_dev and variance are the population's. percentiles: keys p10, p20 to p100.
    """

    count: int
    nan_count: int
    sum: float | None
    mean: float | None
    min: float | None
    max: float | None
    median: float | None
    std_dev: float | None
    variance: float | None
    sample_std_dev: float | None
    sample_variance: float | None
    percentiles: dict[str, float | None]
    histogram: tuple[Bin, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the fields as strict JSON values, the histogram as {"bins": [...]}."""
        return {**asdict(self), "histogram": {"bins": [asdict(bar) for bar in self.histogram]}}


@dataclass(frozen=True, slots=True)
class LabelCount:
    """How often one label came."""

    label: str
    count: int


@dataclass(frozen=True, slots=True)
class LabelDistribution:
    """The labels of one output, most frequent first, ties in alphabetical order. `mode` is the first, None if none."""

    count: int
    nan_count: int
    labels: tuple[LabelCount, ...]
    mode: str | None

    def to_json(self) -> dict[str, Any]:
        """Return the fields as strict JSON values."""
        return {**asdict(self), "labels": [asdict(label) for label in self.labels]}


def aggregate(values: Iterable[float | None]) -> Aggregate:
    """Aggregate numbers; a bool counts as 1 or 0; None, NaN and infinities count in `nan_count` only."""
    given = list(values)
    ordered = sorted(float(value) for value in given if value is not None and math.isfinite(value))
    count = len(ordered)
    mean = mean_of(ordered) if ordered else None
    squares = None if mean is None else _total([(value - mean) * (value - mean) for value in ordered])
    variance = None if squares is None else squares / count
    sample_variance = None if squares is None or count < 2 else squares / (count - 1)
    return Aggregate(
        count=count,
        nan_count=len(given) - count,
        sum=_total(ordered) if ordered else None,
        mean=mean,
        min=ordered[0] if ordered else None,
        max=ordered[-1] if ordered else None,
        median=percentile(ordered, 50),
        std_dev=None if variance is None else math.sqrt(variance),
        variance=variance,
        sample_std_dev=None if sample_variance is None else math.sqrt(sample_variance),
        sample_variance=sample_variance,
        percentiles={f"p{rank}": percentile(ordered, rank) for rank in PERCENTILES},
        histogram=_histogram(ordered),
    )


def count_labels(values: Iterable[str | None]) -> LabelDistribution:
    """Count labels; None (unmeasured) counts in `nan_count` only; an empty label is a label."""
    given = list(values)
    counts = Counter(value for value in given if value is not None)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return LabelDistribution(
        count=counts.total(),
        nan_count=len(given) - counts.total(),
        labels=tuple(LabelCount(label, count) for label, count in ordered),
        mode=ordered[0][0] if ordered else None,
    )


def mean_of(values: Sequence[float]) -> float:
    """Return the mean of at least one finite number; it never leaves the values' own bounds."""
    total = _total(values)
    if total is None:
        largest = max(abs(value) for value in values)
        mean = largest * (math.fsum(value / largest for value in values) / len(values))
    else:
        mean = total / len(values)
    return min(max(mean, min(values)), max(values))  # rounding may step over: three times 0.1


def percentile(ordered: Sequence[float], percent: int) -> float | None:
    """Return the percentile of sorted numbers at rank percent / 100 * (n + 1) - 1, interpolated and clamped."""
    if not ordered:
        return None
    rank = min(max(percent / 100 * (len(ordered) + 1) - 1, 0.0), len(ordered) - 1.0)
    lower, part = ordered[math.floor(rank)], rank % 1
    upper = ordered[math.ceil(rank)]
    if lower == upper:
        return lower
    spread = upper - lower
    return lower + spread * part if math.isfinite(spread) else lower * (1 - part) + upper * part


def _total(values: Sequence[float]) -> float | None:
    """Return the exactly rounded sum, None when it leaves the range of a float."""
    try:
        total = math.fsum(values)
    except OverflowError:
        return None
    return total if math.isfinite(total) else None


def _histogram(ordered: Sequence[float]) -> tuple[Bin, ...]:
    if not ordered:
        return ()
    low, high = ordered[0], ordered[-1]
    if low == high:
        return (Bin(low, high, len(ordered)),)
    inner = [min(max(low * (1 - step / BINS) + high * (step / BINS), low), high) for step in range(1, BINS)]
    counts = Counter(bisect_right(inner, value) for value in ordered)
    edges = [low, *inner, high]
    return tuple(Bin(lower, upper, counts[index]) for index, (lower, upper) in enumerate(pairwise(edges)))
