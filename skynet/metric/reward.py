"""`reward`: one number of accuracy, speed and cost, with Skynet's own measurements."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from skynet.errors import SkynetError
from skynet.metric.context import Observation, current
from skynet.metric.helpers import HOW_TO_RUN
from skynet.metric.numeric import NotANumber, real
from skynet.metric.reward_spec import RewardError, RewardSpec, check_reward_spec
from skynet.metric.show import show


@dataclass(frozen=True, slots=True)
class _Part:
    """One part's value from 0 to 1, and its measurement and reference in words."""

    value: float
    measured: str
    reference: str = ""


def reward(
    spec: dict[str, Any], accuracy: Any, feedback: str, scores: dict[str, Any] | None = None
) -> tuple[float, dict[str, Any]]:
    """Return the pair that `score` returns: the weighted sum of the parts, and feedback with a line about them.

    `accuracy` is a score from 0 to 1, or with `accuracy.reference` an error of 0 or more. `scores` are named scores
    of your own. Raises RewardError; SkynetError when speed or cost count and no metric call is running.
    """
    checked = check_reward_spec(spec)
    if not isinstance(feedback, str):
        raise RewardError(f"The feedback given to reward() must be a string; it is {show(feedback)}.")
    parts = _parts(checked, accuracy)
    # Rounding can leave the weights a hair above 1 in sum.
    total = min(1.0, sum(checked.weights[name] * part.value for name, part in parts.items()))
    line = f"Reward {total:.4g}: {'; '.join(_words(name, part, checked) for name, part in parts.items())}."
    text = f"{feedback}\n{line}" if feedback else line
    return total, {"feedback": text, "scores": _merged(scores, parts)}


def _parts(spec: RewardSpec, accuracy: object) -> dict[str, _Part]:
    """Return the parts that count, in the order accuracy, speed, cost."""
    parts: dict[str, _Part] = {}
    if "accuracy" in spec.parts:
        parts["accuracy"] = _accuracy(accuracy, spec.references.get("accuracy"))
    if "speed" in spec.parts:
        parts["speed"] = _measured(_observed("speed").elapsed_ms, spec.references["speed"], "{:.4g} ms")
    if "cost" in spec.parts:
        parts["cost"] = _measured(_observed("cost").cost_usd, spec.references["cost"], "{:.4g} USD")
    return parts


def _observed(part: str) -> Observation:
    call = current()
    if call is None or call.role != "metric":
        raise SkynetError(
            f"reward() was called outside a metric call, where there is no measured {part}, and {part} has a weight "
            f"above 0. {HOW_TO_RUN} Or give speed and cost the weight 0."
        )
    return call.observation or Observation()


def _accuracy(given: object, reference: float | None) -> _Part:
    right = "a score from 0 to 1" if reference is None else "an error of 0 or more, since accuracy.reference is set"
    try:
        number = real(given)
    except NotANumber as fault:
        raise RewardError(f"The accuracy given to reward() {fault}. It must be {right}.") from None
    if math.isnan(number):
        raise RewardError(f"The accuracy given to reward() is NaN. It must be {right}.")
    if reference is not None:
        if number < 0:
            raise RewardError(f"The accuracy given to reward() is {number:g}. It must be {right}.")
        return _Part(_lower_is_better(number, reference), f"error {number:.4g}", f"{reference:.4g}")
    if math.isinf(number):
        raise RewardError(f"The accuracy given to reward() is infinite. It must be {right}.")
    value = min(1.0, max(0.0, number))
    note = "" if value == number else f", clamped to {value:g}"
    return _Part(value, f"{number:.4g}{note}")


def _measured(value: float | None, reference: float, words: str) -> _Part:
    if value is None:
        return _Part(0.0, "could not be measured", words.format(reference))
    return _Part(_lower_is_better(value, reference), words.format(value), words.format(reference))


def _lower_is_better(value: float, reference: float) -> float:
    """Return 1 at zero, 0.5 at the reference, towards 0 beyond."""
    return reference / (reference + value)


def _words(name: str, part: _Part, spec: RewardSpec) -> str:
    reference = f"reference {part.reference}, " if part.reference else ""
    return f"{name} {part.measured} ({reference}weight {spec.weights[name]:.4g}) scores {part.value:.4g}"


def _merged(scores: object, parts: dict[str, _Part]) -> dict[str, Any]:
    values = {name: part.value for name, part in parts.items()}
    if scores is None:
        return values
    if not isinstance(scores, dict):
        raise RewardError(f'The scores given to reward() must be a dict such as {{"format": 1.0}}; got {show(scores)}.')
    clash = [name for name in values if name in scores]
    if clash:
        raise RewardError(
            f"The scores given to reward() hold {', '.join(clash)}, which reward() reports itself. Choose another name."
        )
    return {**scores, **values}
