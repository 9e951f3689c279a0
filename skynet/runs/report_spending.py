"""What a run spent, for the report: each budget, the best score over it, and whether its dollars are all there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from skynet.models.ledger import TARGET, LedgerEntry
from skynet.runs.events import Event
from skynet.runs.runner import Runner

_UNPRICED = "A model was called whose price nobody knows: the dollars of this run are a lower bound."
_UNMETERED = "What the target spends itself is not in the dollars of this run: they are a lower bound."


def lower_bound_notes(runner: Runner, entries: Sequence[LedgerEntry]) -> list[str]:
    """Return why the run's dollars are a lower bound; nothing where they are all that was spent."""
    unknown = {entry.role == TARGET for entry in entries if entry.cost_usd is None}
    notes = []
    if False in unknown or (runner.budget.usd_is_lower_bound and not unknown):
        notes.append(_UNPRICED)
    if True in unknown:
        notes.append(_UNMETERED)
    return notes


def budget_of(runner: Runner, lower_bound: bool) -> dict[str, Any]:
    """Return limit and use of each budget. Dollars are None where nothing is known of them."""
    limits, spent = runner.budget.limits, runner.budget.spent
    return {
        "metric_calls": {"limit": limits.metric_calls, "used": spent.metric_calls},
        "usd": {"limit": limits.usd, "used": _known(spent.usd, lower_bound), "lower_bound": lower_bound},
        "tokens": {"limit": limits.tokens, "used": spent.tokens},
        "seconds": {"limit": limits.seconds, "used": runner.budget.active_seconds},
    }


def curve_of(events: Sequence[Event], entries: Sequence[LedgerEntry]) -> list[dict[str, Any]]:
    """Return each version that became the best on val, with what was spent when its mean was known."""
    unpriced = min((entry.at for entry in entries if entry.cost_usd is None), default=None)
    points = []
    for event in events:
        if event.kind == "accepted" and event.details["val"] is not None:
            lower_bound = unpriced is not None and unpriced <= event.at
            points.append(
                {
                    "version": event.version,
                    "metric_calls": event.details["metric_calls"],
                    "usd": _known(event.details["usd"], lower_bound),
                    "usd_lower_bound": lower_bound,
                    "best_val": event.details["val"],
                }
            )
    return points


def _known(usd: float, lower_bound: bool) -> float | None:
    """Return the dollars, None for a lower bound of 0, which says nothing."""
    return None if lower_bound and usd == 0 else usd
