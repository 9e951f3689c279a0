"""What `score` may return: a number and a dict with feedback, or `unmeasured(reason)`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import Any

from skynet.errors import SkynetError, nearest
from skynet.metric.numeric import NotANumber, finite
from skynet.metric.show import show

_PAIR = 'Return a pair: a number and a dict, such as (0.8, {"feedback": "Close. The date is missing."}).'
_BLANK = "The feedback is blank. Engines read it to write the next version: say what is wrong and what would be right."


class BadReturn(SkynetError):
    """`score` returned something that is not a score; the text says what came back and what would be right."""


@dataclass(frozen=True, slots=True)
class Unmeasured:
    """Returned instead of a score: the case is left out of the mean and lowers coverage."""

    reason: str


@dataclass(frozen=True, slots=True)
class Scored:
    """A valid score. `side_info` holds the user's other keys as they came, without feedback and scores."""

    score: float
    feedback: str
    scores: dict[str, float] = field(default_factory=dict)
    side_info: dict[Any, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def validate(returned: object) -> Scored | Unmeasured:
    """Return what `score` returned in its checked form: a finite score and a plain str. Raises BadReturn."""
    try:
        if isinstance(returned, Unmeasured):
            return returned
        score, side_info = _pair(returned)
        return _scored(score, side_info)
    except BadReturn:
        raise
    except Exception as error:  # an object of the user's own may raise from any method that reading it calls
        name = type(error).__name__
        raise BadReturn(f"The return value cannot be read: {name} was raised while reading it. {_PAIR}") from error


def _pair(returned: object) -> tuple[object, object]:
    if not isinstance(returned, tuple | list):
        raise BadReturn(f"{_not_a_pair(returned)} {_PAIR}")
    if len(returned) != 2:
        items = f"{len(returned)} item{'' if len(returned) == 1 else 's'}"
        missing = "There is no side info. " if len(returned) == 1 else ""
        raise BadReturn(f"{missing}The return value has {items}, not two. {_PAIR}")
    first, second = returned
    if isinstance(first, dict) and not isinstance(second, dict):
        raise BadReturn(f"The score and the side info are the wrong way round: the number comes first. {_PAIR}")
    return first, second


def _not_a_pair(returned: object) -> str:
    """Say what came back instead of a pair."""
    if isinstance(returned, CoroutineType):
        returned.close()  # or Python warns on stderr that it was never awaited
        return "`score` returned a coroutine that nobody awaited. Make `score` itself `async def`, or await it inside."
    if isinstance(returned, GeneratorType | AsyncGeneratorType):
        return "`score` returned a generator, because it has a `yield`. Use `return`."
    if returned is None:
        return "`score` returned None. Every path through it must end with a `return`."
    if isinstance(returned, dict):
        return "There is no score: `score` returned the side info alone."
    if isinstance(returned, set | frozenset):
        return "`score` returned a set, which has no order."
    if isinstance(returned, str):
        return f"There is no score: `score` returned the text {show(returned)}."
    if returned is Unmeasured or getattr(returned, "__name__", None) == "unmeasured":
        return "`score` returned `unmeasured` without calling it; return unmeasured(reason)."
    return f"There is no side info: `score` returned {show(returned)}."


def _scored(score: object, side_info: object) -> Scored:
    if isinstance(score, Unmeasured):
        raise BadReturn("unmeasured(reason) stands inside a pair. Return it alone: return unmeasured(reason).")
    try:
        number = finite(score)
    except NotANumber as fault:
        raise BadReturn(f"The score {fault}{_seen(score)}. It must be a finite number, such as 0.8.") from None
    if not isinstance(side_info, dict):
        raise BadReturn(f"The side info is not a dict. It is {show(side_info)}. {_PAIR}")
    feedback = _feedback(side_info)
    rest = {key: value for key, value in side_info.items() if key not in ("feedback", "scores")}
    warnings: tuple[str, ...] = () if feedback.strip() else (_BLANK,)
    bounds = declared_range(rest)
    if bounds is not None and not bounds[0] <= number <= bounds[1]:
        warnings += (f"The score {number:g} is outside the range that it declares, {bounds[0]:g} to {bounds[1]:g}.",)
    return Scored(number, feedback, _named_scores(side_info), rest, warnings)


def declared_range(side_info: Mapping[Any, Any]) -> tuple[float, float] | None:
    """Return the lowest and highest score that the side info declares under "range", or None.

    A value that is no pair of two rising numbers is a key of the user's own.
    """
    declared = side_info.get("range")
    if not isinstance(declared, tuple | list) or len(declared) != 2:
        return None
    try:
        low, high = finite(declared[0]), finite(declared[1])
    except NotANumber:
        return None
    return (low, high) if low < high else None


def _seen(value: object) -> str:
    """Return the value in brackets where its kind alone would not say enough."""
    return f" ({show(value)})" if isinstance(value, str | bytes | complex) else ""


def _feedback(side_info: dict[Any, Any]) -> str:
    right = 'The side info must have a string under "feedback", such as {"feedback": "Close. The date is missing."}.'
    if "feedback" not in side_info:
        hint = nearest("feedback", [key for key in side_info if isinstance(key, str)])
        raise BadReturn(f"There is no feedback string.{hint} {right}")
    feedback = side_info["feedback"]
    if not isinstance(feedback, str):
        raise BadReturn(f"There is no feedback string: the feedback is {show(feedback)}. {right}")
    return str.__str__(feedback)  # a plain str, also of a subclass such as an enum or numpy's


def _named_scores(side_info: dict[Any, Any]) -> dict[str, float]:
    right = 'It maps names to finite numbers, such as {"format": 1.0}; leave it out when there are none.'
    if "scores" not in side_info:
        return {}
    named = side_info["scores"]
    if not isinstance(named, dict):
        raise BadReturn(f'"scores" is not a dict. It is {show(named)}. {right}')
    checked: dict[str, float] = {}
    for name, value in named.items():
        if not isinstance(name, str):
            raise BadReturn(f'A name in "scores" is not a string. It is {show(name)}. {right}')
        try:
            checked[str.__str__(name)] = finite(value)
        except NotANumber as fault:
            where = f'A named score is not a number: "scores" has {show(name)}, which {fault}{_seen(value)}.'
            raise BadReturn(f"{where} {right}") from None
    return checked
