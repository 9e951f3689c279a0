"""Measuring by pairs in one process: two ways take turns, so that a busy machine slows both alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable


def microseconds(work: Callable[[], object], times: int) -> float:
    """Return what one of `times` runs takes."""
    started = time.perf_counter()
    for _ in range(times):
        work()
    return (time.perf_counter() - started) / times * 1e6


def medians_of_pairs(ours: Callable[[], float], theirs: Callable[[], float], pairs: int) -> tuple[float, float, float]:
    """Measure in turn, `pairs` times; return both medians, and the median of the differences."""
    taken = [(ours(), theirs()) for _ in range(pairs)]
    return (
        statistics.median(first for first, _ in taken),
        statistics.median(second for _, second in taken),
        statistics.median(first - second for first, second in taken),
    )
