"""The model calls of a run or a job as a report tells them: one line a role and model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from skynet.models.ledger import LedgerEntry


def ledger_lines(entries: Iterable[LedgerEntry]) -> list[dict[str, Any]]:
    """Return one line a role and model; dollars are None where a call had no price."""
    lines: dict[tuple[str, str], dict[str, Any]] = {}
    for entry in entries:
        line = lines.setdefault(
            (entry.role, entry.model),
            {
                "role": entry.role,
                "model": entry.model,
                "calls": 0,
                "prompt_tokens": 0,
                "completion_tokens": 0,
                "usd": 0.0,
            },
        )
        line["calls"] += 1
        line["prompt_tokens"] += entry.prompt_tokens or 0
        line["completion_tokens"] += entry.completion_tokens or 0
        unknown = line["usd"] is None or entry.cost_usd is None
        line["usd"] = None if unknown else line["usd"] + entry.cost_usd
    return list(lines.values())
