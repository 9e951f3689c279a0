"""REWARD_SPEC, checked: how much accuracy, speed and cost weigh, and what each is measured against."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from skynet.errors import SkynetError, nearest
from skynet.metric.numeric import NotANumber, finite
from skynet.metric.show import show

PARTS = ("accuracy", "speed", "cost")
_EXAMPLE = {"accuracy": "0.1", "speed": '{"reference": 2000}', "cost": '{"reference": 0.01}'}
_UNITS = {"accuracy": "", "speed": " of milliseconds", "cost": " of US dollars"}


class RewardError(SkynetError):
    """A REWARD_SPEC, or a value given to `reward`, that cannot be used; the text names the part."""


@dataclass(frozen=True, slots=True)
class RewardSpec:
    """Weights that add up to 1, and the references (error, milliseconds, US dollars), by part."""

    weights: dict[str, float]
    references: dict[str, float]

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts that count: those with a weight above 0."""
        return tuple(part for part in PARTS if self.weights[part] > 0)


def check_reward_spec(spec: object) -> RewardSpec:
    """Return `spec` with its weights scaled to add up to 1. Raises RewardError naming the part."""
    if not isinstance(spec, dict):
        raise RewardError(f'REWARD_SPEC must be a dict with "weights", accuracy, speed and cost; it is {show(spec)}.')
    _refuse_unknown(spec, ("weights", *PARTS), "REWARD_SPEC")
    weights = _weights(spec)
    references: dict[str, float] = {}
    for part in PARTS:
        reference = _reference(spec, part)
        if reference is not None:
            references[part] = reference
        elif part != "accuracy" and weights[part] > 0:
            raise RewardError(
                f"REWARD_SPEC has no {part}.reference, but {part} has a weight above 0. "
                f'Add "{part}": {_EXAMPLE[part]}, a positive number{_UNITS[part]}, or give it the weight 0.'
            )
    return RewardSpec(weights, references)


def _weights(spec: dict[Any, Any]) -> dict[str, float]:
    right = 'It must hold accuracy, speed and cost, such as {"accuracy": 0.7, "speed": 0.2, "cost": 0.1}.'
    if "weights" not in spec:
        raise RewardError(f"REWARD_SPEC has no weights. {right}")
    given = spec["weights"]
    if not isinstance(given, dict):
        raise RewardError(f"REWARD_SPEC.weights must be a dict; it is {show(given)}. {right}")
    _refuse_unknown(given, PARTS, "REWARD_SPEC.weights")
    for part in PARTS:
        if part not in given:
            raise RewardError(f"REWARD_SPEC.weights has no {part}. {right} The weight 0 leaves a part out.")
    weights = {part: _number(given[part], f"REWARD_SPEC.weights.{part}", "a number of 0 or more") for part in PARTS}
    for part, weight in weights.items():
        if weight < 0:
            raise RewardError(f"REWARD_SPEC.weights.{part} is {weight:g}. It must be a number of 0 or more.")
    largest = max(weights.values())
    if largest == 0:
        raise RewardError("All of REWARD_SPEC.weights are 0. At least one of accuracy, speed and cost must be above 0.")
    shares = {part: weight / largest for part, weight in weights.items()}  # first to 1, or huge ones add up to infinity
    total = sum(shares.values())
    return {part: share / total for part, share in shares.items()}


def _reference(spec: dict[Any, Any], part: str) -> float | None:
    if part not in spec:
        return None
    section = spec[part]
    if not isinstance(section, dict):
        right = '{"reference": ...} or {}'
        raise RewardError(f"REWARD_SPEC.{part} must be a dict such as {right}; it is {show(section)}.")
    _refuse_unknown(section, ("reference",), f"REWARD_SPEC.{part}")
    if "reference" not in section:
        return None
    right = f"a positive number{_UNITS[part]}"
    value = _number(section["reference"], f"REWARD_SPEC.{part}.reference", right)
    if value <= 0:
        raise RewardError(f"REWARD_SPEC.{part}.reference is {value:g}. It must be {right}.")
    return value


def _number(value: object, name: str, right: str) -> float:
    if isinstance(value, bool):
        raise RewardError(f"{name} is {value}. It must be {right}.")
    try:
        return finite(value)
    except NotANumber as fault:
        raise RewardError(f"{name} {fault}. It must be {right}.") from None


def _refuse_unknown(given: dict[Any, Any], known: tuple[str, ...], where: str) -> None:
    for key in given:
        if key not in known:
            hint = nearest(key, known) if isinstance(key, str) else ""
            raise RewardError(f"{where} has the unknown key {show(key)}.{hint} Known: {', '.join(known)}.")
