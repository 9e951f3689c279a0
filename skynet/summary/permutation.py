"""The two-sided sign-flip permutation test of paired differences."""

from __future__ import annotations

from collections.abc import Sequence

from skynet.summary.interval import batches

EXACT_UP_TO = 16  # differing cases: 32,768 sign patterns up to symmetry
RANDOM_FLIPS = 10_000
_ROUNDING = 1e-9  # relative; sums that are equal on paper differ in their last bits by the order of addition


def sign_flip_p(differences: Sequence[float], *, seed: int = 0) -> float:
    """Return the share of sign patterns whose sum is at least as far from 0 as the observed one: a p in (0, 1].

    Exact up to 16 differing cases. Beyond, (k + 1) / (m + 1), with k of m = 10,000 seeded random patterns as far out.
    Cases that do not differ carry no sign and change nothing; when none differs, p is 1.
    """
    differing = [difference for difference in differences if difference]
    if not differing:
        return 1.0
    largest = max(abs(difference) for difference in differing)
    sizes = sorted(abs(difference) / largest for difference in differing)
    observed = abs(sum(difference / largest for difference in differing)) - _ROUNDING * sum(sizes)
    if len(sizes) <= EXACT_UP_TO:
        return _exact(sizes, observed)
    return _sampled(sizes, observed, seed)


def _exact(sizes: Sequence[float], observed: float) -> float:
    sums = [sizes[0]]  # the first sign may stay: the other half of the patterns mirrors this one
    for size in sizes[1:]:
        sums = [total + size for total in sums] + [total - size for total in sums]
    return sum(abs(total) >= observed for total in sums) / len(sums)


def _sampled(sizes: Sequence[float], observed: float, seed: int) -> float:
    import numpy as np  # only a verdict needs it

    random = np.random.RandomState(seed)  # its stream is frozen over numpy releases: a report can be reproduced
    weights = np.array(sizes)
    as_far = 0
    for rows in batches(RANDOM_FLIPS, len(sizes)):
        signs = random.randint(0, 2, (rows, len(sizes)), dtype=np.int8) * np.int8(2) - np.int8(1)
        as_far += int(np.count_nonzero(np.abs(signs @ weights) >= observed))
    return (as_far + 1) / (RANDOM_FLIPS + 1)
