"""The report's figures: start and best side by side, and what was used of the budget."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from skynet.runs.report.show import (
    NOTHING,
    dollars,
    duration,
    milliseconds,
    one_line,
    score,
    signed,
    spent,
    whole,
)

_BUDGETS: dict[str, tuple[str, Callable[[float | None], str]]] = {
    "metric_calls": ("metric calls", whole),
    "usd": ("dollars", dollars),
    "tokens": ("tokens", whole),
    "seconds": ("time", duration),
}
CURVE_HEAD = ("Metric calls", "Cost so far", "Best val mean")


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
    """Return the rows that have a value on at least one side: the start, and the version that is held against it."""
    start, best = report.get("baseline") or {}, report.get("challenger") or report.get("best") or {}
    repeats = report.get("repeats") or 1
    rows = [
        _scores("Test mean", start.get("test"), best.get("test")),
        _coverage("test", start, best, repeats),
        _scores("Val mean", start.get("val"), best.get("val")),
        _coverage("val", start, best, repeats),
    ]
    rows += [
        _scores(one_line(str(one.get("name")), 60), one.get("start"), one.get("best"))
        for one in report.get("named_scores") or []
    ]
    time, cost = report.get("time") or {}, report.get("cost") or {}
    rows.append(_measured("Time per call", time.get("start_ms"), time.get("best_ms"), milliseconds))
    rows.append(_measured("Cost per call", cost.get("start_usd"), cost.get("best_usd"), dollars))
    return [row for row in rows if row is not None]


def figures_told(report: Mapping[str, Any]) -> str:
    """Say over which cases the figures are; empty where there are none."""
    start, best = report.get("baseline") or {}, report.get("challenger") or report.get("best") or {}
    if start.get("val") is None and start.get("test") is None:
        return ""
    if start.get("test") is None:
        return "Named scores, time and cost are means over the val cases."
    measured = "that both versions measured" if best.get("version") != start.get("version") else "that were measured"
    return f"Test mean, named scores, time and cost are means over the test cases {measured}."


def budget_lines(budget: Mapping[str, Mapping[str, Any]]) -> list[BudgetLine]:
    """Return the kinds of budget of which something is known, and dollars of which it is known that they are not."""
    lines = []
    for key, (name, write) in _BUDGETS.items():
        entry = budget.get(key) or {}
        used, limit, lower_bound = entry.get("used"), entry.get("limit"), bool(entry.get("lower_bound"))
        if used is None and limit is None and not lower_bound:
            continue
        share = None if used is None or not limit else min(used / limit, 1.0)
        told = spent(used, lower_bound) if lower_bound else write(used)
        lines.append(BudgetLine(name, told, "no limit" if limit is None else write(limit), share))
    return lines


def curve_rows(report: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return the points of the curve, written for people, under `CURVE_HEAD`."""
    return [
        (
            whole(point.get("metric_calls")),
            spent(point.get("usd"), bool(point.get("usd_lower_bound"))),
            score(point["best_val"]),
        )
        for point in report.get("curve") or []
        if point.get("best_val") is not None
    ]


def covered(coverage: Mapping[str, Any] | None) -> str:
    """Write a coverage as `8 of 12`; it counts evaluations, which are cases where nothing is repeated."""
    return f"{whole(coverage.get('measured'))} of {whole(coverage.get('total'))}" if coverage else NOTHING


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


def _coverage(split: str, start: Mapping[str, Any], best: Mapping[str, Any], repeats: int) -> Figure | None:
    sides = [(side.get("coverage") or {}).get(split) for side in (start, best)]
    if not any(sides):
        return None
    unit = "cases" if repeats == 1 else "evaluations"
    return Figure(f"{split.capitalize()} {unit} measured", covered(sides[0]), covered(sides[1]), "")


def _measured(
    name: str, start: float | None, best: float | None, write: Callable[[float | None], str]
) -> Figure | None:
    if start is None and best is None:
        return None
    change = f"{signed(round(100 * (best / start - 1), 1))} %" if start and best is not None else ""
    return Figure(name, write(start), write(best), change)
