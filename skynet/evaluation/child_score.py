"""What else than a function may be called `score` in a metric file, as a function.

This module runs inside user workers: it imports nothing heavy unless the metric needs it.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any

from skynet.metric.show import show
from skynet.metric.signature import BadSignature
from skynet.typed.adapters.shapes import tool_by_methods

_SCORERS = "skynet.scorers."
_SUBJECTS = ("output", "trace")  # what a scorer's first parameter is called


def as_function(score: Any) -> Any:
    """Return the function that runs `score`: a typed metric, a toolkit's evaluator or one of Skynet's scorers.

    Anything else comes back as it is. Raises BadSignature for the object of another tool, which adapt() takes, and
    another SkynetError for a typed metric without one score.
    """
    tool = tool_by_methods(score)
    if tool in ("typed", "toolkit") and not isinstance(score, type):
        from skynet.typed.adapting import adapt

        return adapt(score)
    if tool is not None and (isinstance(score, type) or not callable(score) or tool == "autoevals"):
        made = score.__name__ if isinstance(score, type) else f"{type(score).__name__}(...)"
        raise BadSignature(
            f"`score` has the shape of {tool}: it is {show(score)}. Write it as: score = skynet.adapt({made})."
        )
    if _is_own_scorer(score):
        from skynet.scorers.on_cases import as_metric

        return as_metric(score)
    return score


def _is_own_scorer(score: Any) -> bool:
    """Whether it is one of Skynet's scorers itself, maybe with options by `partial`; another function's parameters
    are the user's to name."""
    plain = score
    while isinstance(plain, functools.partial):
        plain = plain.func
    if not inspect.isfunction(plain) or not plain.__module__.startswith(_SCORERS):
        return False
    return next(iter(inspect.signature(plain).parameters), "") in _SUBJECTS
