"""The report's figures: start and best side by side, and what was used of the budget."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from skynet.runs.report.show import dollars, duration, milliseconds, one_line, score, signed, whole

_BUDGETS: dict[str, tuple[str, Callable[[float | None], str]]] = {
    "metric_calls": ("metric calls", whole),
    "usd": ("dollars", dollars),
    "tokens": ("tokens", whole),
    "seconds": ("time", duration),
}


@dataclass(frozen=True, slots=True)
class Figure:
    """One row, written for people. `change` is empty where one side has no value."""

    name: str
    start: str
    best: str
    change: str


@dataclass(frozen=True, slots=True)
class BudgetLine:
    """One kind of budget, written for people. `share` is the used part, 0 to 1; None without a limit."""

    name: str
    used: str
    limit: str
    share: float | None


def figures(report: Mapping[str, Any]) -> list[Figure]:
    """Return the rows that have a value on at least one side."""
    baseline, best = report.get("baseline") or {}, report.get("best") or {}
    rows = [
        _scores("Test mean", baseline.get("test"), best.get("test")),
        _scores("Val mean", baseline.get("val"), best.get("val")),
    ]
    rows += [
        _scores(one_line(str(one.get("name")), 60), one.get("start"), one.get("best"))
        for one in report.get("named_scores") or []
    ]
    time, cost = report.get("time") or {}, report.get("cost") or {}
    rows.append(_measured("Time per call", time.get("start_ms"), time.get("best_ms"), milliseconds))
    rows.append(_measured("Cost per call", cost.get("start_usd"), cost.get("best_usd"), dollars))
    return [row for row in rows if row is not None]


def budget_lines(budget: Mapping[str, Mapping[str, Any]]) -> list[BudgetLine]:
    """Return the kinds of budget of which something is known."""
    lines = []
    for key, (name, write) in _BUDGETS.items():
        entry = budget.get(key) or {}
        used, limit = entry.get("used"), entry.get("limit")
        if used is None and limit is None:
            continue
        share = None if used is None or not limit else min(used / limit, 1.0)
        lines.append(BudgetLine(name, write(used), "no limit" if limit is None else write(limit), share))
    return lines


def version_names(report: Mapping[str, Any]) -> dict[str, str]:
    """Return the short name of each version by id: `v0` is the start, the others follow in the order they came."""
    names: dict[str, str] = {}
    for number, version in enumerate(report.get("versions") or []):
        names.setdefault(str(version.get("id")), f"v{number}")
    return names


def challenger(report: Mapping[str, Any]) -> tuple[str, str]:
    """Return the id and the title of the version that the report holds against the start: the best or the rejected."""
    rejected = report.get("rejected")
    if rejected:
        return str(rejected), "Rejected"
    return str((report.get("best") or {}).get("version")), "Best"


def side_names(report: Mapping[str, Any]) -> tuple[str, str]:
    """Return the titles of the two sides, with their versions' short names."""
    names = version_names(report)
    start = names.get(str((report.get("baseline") or {}).get("version")))
    other, title = challenger(report)
    return f"Start {start}" if start else "Start", f"{title} {names[other]}" if other in names else title


def _scores(name: str, start: float | None, best: float | None) -> Figure | None:
    if start is None and best is None:
        return None
    change = signed(best - start) if start is not None and best is not None else ""
    return Figure(name, score(start), score(best), change)


def _measured(
    name: str, start: float | None, best: float | None, write: Callable[[float | None], str]
) -> Figure | None:
    if start is None and best is None:
        return None
    change = f"{signed(round(100 * (best / start - 1), 1))} %" if start and best is not None else ""
    return Figure(name, write(start), write(best), change)
