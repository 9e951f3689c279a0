"""What every scorer returns, the references it compares with, and the errors it raises."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from importlib import import_module
from typing import Any, Literal, TypeAlias

from skynet.errors import SkynetError, nearest
from skynet.metric.contract import Unmeasured
from skynet.metric.show import show
from skynet.scorers.text import text_of

Pair: TypeAlias = tuple[float, dict[str, Any]]
Result: TypeAlias = Pair | Unmeasured
Profile: TypeAlias = Literal["default", "nemo"]

NO_REFERENCE = Unmeasured("There is no expected value to compare with.")


class ScorerError(SkynetError):
    """A scorer was given an option that it cannot work with, or its extra is not installed."""


def pair(score: float, feedback: str, scores: dict[str, float] | None = None) -> Pair:
    """Return the pair of the metric contract."""
    return float(score), {"feedback": feedback, "scores": scores or {}}


def references(expected: object, output: object) -> list[str]:
    """Return the texts that would be right; none when there is no expected value.

    A list holds one reference per item, unless the output is a list too. None and, beside others, blank ones are left
    out.
    """
    several = isinstance(expected, list | tuple) and not isinstance(output, list | tuple)
    values: Sequence[object] = expected if several else [expected]  # type: ignore[assignment]  # a list or tuple
    texts = [text_of(value) for value in values if value is not None]
    return [text for text in texts if text.strip()] or texts[:1]


def best(results: Sequence[Pair]) -> Pair:
    """Return the result with the highest score, the first of equals."""
    return max(results, key=lambda result: result[0])


def one_of_options(scorer: str, option: str, value: object, known: Collection[str]) -> None:
    """Raise ScorerError unless `value` is one of the known ones."""
    if value not in known:
        hint = nearest(value, known) if isinstance(value, str) else ""
        choices = ", ".join(repr(name) for name in known)
        raise ScorerError(f"{scorer}: {option} is {show(value)}; it must be one of {choices}.{hint}")


def is_nemo(scorer: str, profile: object) -> bool:
    """Return whether the scorer is to give the original's numbers. Raises ScorerError for an unknown profile."""
    one_of_options(scorer, "profile", profile, ("default", "nemo"))
    return profile == "nemo"


def extra(scorer: str, module: str) -> Any:
    """Import a module of the extra `scorers`. Raises ScorerError when it is not installed."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        install = "pip install 'skynet-optimizer[scorers]'"
        raise ScorerError(f"{scorer} counts with the package {package}: {error}. Install it: {install}") from error
