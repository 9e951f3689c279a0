"""What three samples can already tell of a metric: whether it separates outputs, and whether its feedback can teach."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from skynet.data.case import Case
from skynet.evaluation.display import apart, number
from skynet.target.prompt import as_text

_SHORTEST_LEAK = 3  # characters; a shorter expected value stands in any text by chance


def perfect_output(case: Case) -> Any:
    """Return the case's expected value as an output: the value of the one output column, or the dict of several."""
    if case.expected is None:
        return None
    return next(iter(case.expected.values())) if len(case.expected) == 1 else dict(case.expected)


def perfect_finding(pairs: Sequence[tuple[str, float | None, float | None]]) -> str:
    """Return the warning about perfect answers, or nothing.

    Each pair is a case, the score of its sample and the score of its expected value; None where there is none.
    """
    perfect = [score for _, _, score in pairs if score is not None]
    for case, sampled, score in pairs:
        if sampled is not None and score is not None and score < sampled:
            lower, higher = apart(score, sampled)
            return (
                f"case {case}: the expected value taken as the output scores {lower}, less than the sample's "
                f"{higher}. The metric may misread the data, or expect another shape than the output column holds."
            )
    if perfect and max(perfect) <= 0:
        return (
            "no expected value scores above 0 when it is taken as the output. The metric may misread the data: compare "
            "what it reads from `expected` with the output columns, in spelling and in type."
        )
    return ""


def score_finding(sampled: Sequence[float], perfect: Sequence[float]) -> str:
    """Return the warning about constant scores, or nothing: samples and perfect answers that all score the same."""
    seen = [*sampled, *perfect]
    if len(sampled) < 2 or len(set(seen)) > 1:
        return ""
    return f"every output scored {number(seen[0])}; a metric that never changes leaves an engine nothing to climb"


def feedback_finding(feedback: Sequence[str]) -> str:
    """Return the warning about blank or constant feedback, or nothing."""
    if any(not text.strip() for text in feedback):
        return "some feedback is blank; say what is wrong and what a correct output looks like"
    if len(feedback) > 1 and len(set(feedback)) == 1 and len(feedback[0].split()) < 4:
        return f"every feedback is {feedback[0]!r}; say what is wrong in this case and what would be right"
    return ""


def leak_finding(feedback: Mapping[str, str], cases: Sequence[Case]) -> str:
    """Return the note that feedback carries expected values, or nothing."""
    for case in cases:
        for value in (case.expected or {}).values():
            text = as_text(value)
            if len(text) >= _SHORTEST_LEAK and text in feedback.get(case.id, ""):
                return f"the feedback carries expected values (case {case.id}): the reflection model will read them"
    return ""


def reward_finding(reward_spec: Mapping[str, Any] | None, scores: Sequence[Mapping[str, float]]) -> str:
    """Return the warning that a REWARD_SPEC is defined but not used, or nothing."""
    if not reward_spec or not scores:
        return ""
    weighted = [part for part, weight in reward_spec.get("weights", {}).items() if weight]
    missing = [part for part in weighted if any(part not in named for named in scores)]
    if not missing:
        return ""
    return f"REWARD_SPEC weighs {', '.join(missing)}, but the scores do not show it; return reward(REWARD_SPEC, ...)"
