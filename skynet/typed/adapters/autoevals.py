"""autoevals' scorers: `eval(output, expected, **more)` returns a Score with `score` and `metadata`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skynet.typed.adapters.columns import Columns, only_value
from skynet.typed.adapters.outcome import Said
from skynet.typed.adapters.shapes import parameters_of

_RUN = "_run_eval_sync"  # the scorer's own parameters stand here; `eval` takes anything


def ask_autoevals(scorer: Any, case: Columns, arguments: Mapping[str, Any]) -> Said:
    """Score one case. A score of None means that the scorer skipped it."""
    names = parameters_of(getattr(scorer, _RUN, scorer.eval))
    wanted = {name: case.field(name) for name in (*names, *case.fields) if name not in ("output", "expected", "kwargs")}
    more = {"input": only_value(case.input), **{name: value for name, value in wanted.items() if value is not None}}
    returned = scorer.eval(case.answer("output"), case.reference("expected"), **{**more, **arguments})
    metadata = _part(returned, "metadata") or {}
    return Said(
        value=_part(returned, "score"),
        reason=metadata.get("rationale") or metadata.get("reason") or None,
        error=_part(returned, "error"),
        facts={"choice": metadata.get("choice")},
    )


def _part(returned: Any, name: str) -> Any:
    return returned.get(name) if isinstance(returned, Mapping) else getattr(returned, name, None)
