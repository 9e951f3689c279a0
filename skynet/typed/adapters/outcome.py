"""What a tool said of one case, as what `score` returns: a finite number with feedback, or unmeasured."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from skynet.errors import nearest
from skynet.metric.contract import Unmeasured
from skynet.metric.numeric import NotANumber, real
from skynet.metric.show import show
from skynet.scorers.redaction import without_expected
from skynet.typed.strict_json import strict_json
from skynet.typed.toolkit_score import reasoning_text
from skynet.typed.validation import MetricError

Pair = tuple[float, dict[str, Any]]
Result = Pair | Unmeasured

_LABELS = {
    "c": 1.0, "p": 0.5, "i": 0.0, "n": 0.0,  # inspect: correct, partial, incorrect, no answer
    "correct": 1.0, "incorrect": 0.0, "pass": 1.0, "fail": 0.0, "yes": 1.0, "no": 0.0, "true": 1.0, "false": 0.0,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Terms:
    """How a tool's numbers are read: which one is the score, its direction and range, and what its labels are worth."""

    primary: str | None = None
    lower_is_better: bool = False
    range: tuple[float, float] | None = None
    labels: Mapping[str, float] = field(default_factory=dict)

    def number(self, who: str, value: object) -> float:
        """Return the value as a number, which may be NaN (None is); a label by its worth. Raises MetricError."""
        if value is None:
            return math.nan
        if isinstance(value, str):
            return self._label(who, value)
        try:
            return real(value)
        except NotANumber as fault:
            raise MetricError(f"The score of {who} {fault}. It must be a number, such as 0.8.") from None

    def _label(self, who: str, value: str) -> float:
        known = {**_LABELS, **{name.strip().casefold(): worth for name, worth in self.labels.items()}}
        name = value.strip().casefold()
        if name in known:
            return known[name]
        try:
            return float(name)
        except ValueError:
            example = f"labels={{{value!r}: 1.0}}"
            raise MetricError(f"The score of {who} is {show(value)}. Say what it is worth: {example}.") from None


@dataclass(frozen=True, slots=True)
class Said:
    """What a tool said: a value (a number, a label, a dict of several), its reason, other numbers, other facts."""

    value: Any
    reason: Any = None
    scores: Mapping[str, Any] = field(default_factory=dict)
    error: Any = None
    facts: Mapping[str, Any] = field(default_factory=dict)


def result_of(who: str, said: Said, terms: Terms) -> Result:
    """Return the pair, before direction and redaction; unmeasured for an error, None, NaN and infinity."""
    if said.error:
        return Unmeasured(f"{who} reported an error: {said.error}")
    reason = strict_json(said.reason)
    words = reasoning_text(reason)
    named = {**said.scores, **(said.value if isinstance(said.value, Mapping) else {})}
    value, scores = said.value, _finite(who, named, terms)
    if isinstance(value, Mapping) or terms.primary is not None:
        value = named.get(_primary(who, named, terms))
    number = terms.number(who, value)
    if not math.isfinite(number):
        shown = "gave no score" if math.isnan(number) and value is None else f"gave the score {number}"
        return Unmeasured(f"{who} {shown}. {words}".strip())
    info: dict[str, Any] = {"feedback": words or f"{who}: the score is {number:g}, without a reason.", "scores": scores}
    info.update({key: item for key, item in said.facts.items() if item is not None})
    if isinstance(reason, dict | list):
        info["reasoning"] = reason
    return number, info


def _primary(who: str, named: Mapping[str, Any], terms: Terms) -> str:
    listed = ", ".join(map(repr, named)) or "none"
    if terms.primary is None and len(named) == 1:
        return next(iter(named))
    if terms.primary is None:
        raise MetricError(f"{who} gave several scores ({listed}): name the one that counts with primary=.")
    if terms.primary not in named:
        hint = nearest(terms.primary, named)
        raise MetricError(f"primary={terms.primary!r} is no score of {who}; it gave: {listed}.{hint}")
    return terms.primary


def _finite(who: str, named: Mapping[str, Any], terms: Terms) -> dict[str, float]:
    numbers = {name: terms.number(who, value) for name, value in named.items()}
    return {name: number for name, number in numbers.items() if math.isfinite(number)}


def settled(result: Result, expected: Any, terms: Terms) -> Result:
    """Return the result as a run takes it: higher is better, its range declared, no expected value in its words."""
    if isinstance(result, Unmeasured):
        return Unmeasured(without_expected(result.reason, expected))
    number, given = result
    scores = dict(given.get("scores") or {})
    rest = {key: item for key, item in given.items() if key != "scores"}
    info: dict[str, Any] = {**without_expected(rest, expected), "scores": scores}
    if terms.range is not None:
        info["range"] = list(terms.range)
    if not terms.lower_is_better:
        return number, info
    turned = _turned(number, terms)
    info["raw_score"] = number
    for name in [terms.primary] if terms.primary in scores else list(scores) if len(scores) == 1 else []:
        scores[str(name)] = turned
    return turned, info


def _turned(number: float, terms: Terms) -> float:
    """Return the number with the direction turned: mirrored inside its range, else negated."""
    return -number if terms.range is None else terms.range[0] + terms.range[1] - number
