"""A check's threshold and its negation."""

from __future__ import annotations

from typing import Any

from skynet.metric.contract import Scored, Unmeasured, validate
from skynet.metric.signature import call_style
from skynet.scorers.on_cases import Metric
from skynet.scorers.result import Result, ScorerError


def passing(metric: Metric, threshold: float | None = None, *, negated: bool = False) -> Metric:
    """Return the metric as a check: 1 where its score is at least `threshold`, else 0; `negated`, the other way round.

    Without a threshold a negated score is mirrored in its declared range, or in 0..1. What was measured stands in
    `scores` as `measured`.
    """
    if threshold is None and not negated:
        return metric
    style = call_style(metric)

    def score(input: Any, output: Any, expected: Any = None, *, trace: Any = None) -> Result:
        found = validate(style.call(metric, input, output, expected, trace))
        if isinstance(found, Unmeasured):
            return found
        scores = {**found.scores, "measured": found.score}
        if threshold is None:
            return _mirrored(found, scores)
        reached = found.score >= threshold
        asked = f"{'under' if negated else 'at least'} {threshold:g} is asked"
        told = f"It measures {found.score:.4g}, and {asked}. {found.feedback}"
        return float(reached is not negated), {"feedback": told, "scores": scores}

    return score


def _mirrored(found: Scored, scores: dict[str, float]) -> Result:
    low, high = found.side_info.get("range", (0.0, 1.0))
    if not low <= found.score <= high:
        raise ScorerError(f"not: the score {found.score:g} is outside {low:g}..{high:g}; give the check a threshold.")
    told = f"The opposite is asked. {found.feedback}"
    return low + high - found.score, {"feedback": told, "scores": scores, "range": [low, high]}
