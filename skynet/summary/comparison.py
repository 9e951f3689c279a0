"""The paired comparison of two versions, start and best, on the cases that both measured."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from skynet.summary.aggregate import mean_of
from skynet.summary.interval import bootstrap_interval
from skynet.summary.permutation import sign_flip_p

FEWEST_CASES = 6  # won, with none lost: the least that the sign-flip test calls significant at 5 % (2 / 2**6 = 0.031)
_TIE = 1e-9  # relative; a smaller difference is float noise, for instance of a mean over repeats


@dataclass(frozen=True, slots=True)
class Comparison:
    """Best minus start, case by case. Every figure is over the `cases` that both measured; None when there are none.

    mean, low, high: mean difference and its 95 % interval. p: two-sided sign-flip permutation test.
    unpaired: cases left out because start or best has no measurement there. span: width of the score's range.
    smallest_difference: the least mean difference that this many cases could show (see `compare`); None when fewer
    than six cases were compared, which can show none.
    """

    cases: int
    unpaired: int
    span: float
    start_mean: float | None
    best_mean: float | None
    mean: float | None
    low: float | None
    high: float | None
    p: float | None
    wins: int
    ties: int
    losses: int
    smallest_difference: float | None

    @property
    def includes_zero(self) -> bool:
        """Whether no difference is a possible truth: the interval includes 0, or there is no interval."""
        return self.low is None or self.high is None or self.low <= 0 <= self.high

    def to_json(self) -> dict[str, Any]:
        """Return the fields as strict JSON values."""
        return asdict(self)


def compare(
    start: Mapping[str, float | None], best: Mapping[str, float | None], *, span: float = 1.0, seed: int = 0
) -> Comparison:
    """Compare the scores of `start` and `best`, both keyed by case, None (or no key) for an unmeasured case.

    `span` is the width of the score's range, in the score's unit; it stands in for the largest difference when no
    case differs. Raises ValueError for a score that is not finite or a span that is not positive and finite.

    The smallest difference that n cases could show is the larger of two figures: the distance from the mean to that
    end of its interval which faces 0, which is the observed spread's share (the range's when none differs); and
    6 * largest / n, six cases won by the largest observed difference (the range when none differs) and none lost.
    """
    if not (math.isfinite(span) and span > 0):
        raise ValueError(f"span must be a finite number above 0, not {span!r}")
    pairs = _measured_by_both(start, best)
    differences = sorted(_difference(before, after) for before, after in pairs)
    unpaired = len(start.keys() | best.keys()) - len(pairs)
    if not pairs:
        return Comparison(0, unpaired, span, None, None, None, None, None, None, 0, 0, 0, None)
    largest = max(abs(difference) for difference in differences) or span
    mean = mean_of(differences)
    low, high = bootstrap_interval(differences, largest, seed=seed)
    wins = sum(difference > 0 for difference in differences)
    losses = sum(difference < 0 for difference in differences)
    return Comparison(
        cases=len(pairs),
        unpaired=unpaired,
        span=span,
        start_mean=mean_of([before for before, _ in pairs]),
        best_mean=mean_of([after for _, after in pairs]),
        mean=mean,
        low=low,
        high=high,
        p=sign_flip_p(differences, seed=seed),
        wins=wins,
        ties=len(pairs) - wins - losses,
        losses=losses,
        smallest_difference=_smallest_difference(len(pairs), mean, low, high, largest),
    )


def _measured_by_both(
    start: Mapping[str, float | None], best: Mapping[str, float | None]
) -> list[tuple[float, float]]:
    pairs = []
    for case, before in start.items():
        after = best.get(case)
        if before is None or after is None:
            continue
        if not math.isfinite(after - before):
            raise ValueError(f"case {case!r}: scores must be finite and a finite distance apart: {before!r}, {after!r}")
        pairs.append((float(before), float(after)))
    return pairs


def _difference(before: float, after: float) -> float:
    difference = after - before
    return 0.0 if abs(difference) <= _TIE * max(abs(before), abs(after)) else difference


def _smallest_difference(cases: int, mean: float, low: float, high: float, largest: float) -> float | None:
    if cases < FEWEST_CASES:
        return None
    towards_zero = mean - low if mean >= 0 else high - mean
    return max(towards_zero, FEWEST_CASES / cases * largest)
