"""pass@k: the chance that at least one of k trials passes."""

from __future__ import annotations

from math import comb


def pass_at_k(trials: int, passes: int, k: int) -> float | None:
    """Return 1 - C(trials - passes, k) / C(trials, k), the unbiased estimate; None with fewer than k trials.

    Source: Chen et al., Evaluating Large Language Models Trained on Code, 2021.
    """
    if trials < k:
        return None
    return 1.0 - comb(trials - passes, k) / comb(trials, k)
