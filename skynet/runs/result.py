"""A run's result: what the command line prints as JSON and what `skynet.optimize` returns."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skynet.runs.report.show import legible
from skynet.runs.report.words import headline


@dataclass(frozen=True, slots=True)
class RunResult:
    """One run's result. `data` is the whole report; the other fields are those of the command line's JSON."""

    run: str
    name: str
    status: str
    finish_reason: str | None
    engine: str
    changed: bool
    rejected: str | None
    baseline: Mapping[str, Any]
    best: Mapping[str, Any]
    difference: Mapping[str, Any] | None
    metric_calls: int
    cost_usd: float | None
    report: str | None
    message: str
    data: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Return the object that `run`, `demo` and `runs resume` print."""
        return {
            "run": self.run,
            "name": self.name,
            "status": self.status,
            "finish_reason": self.finish_reason,
            "engine": self.engine,
            "changed": self.changed,
            "rejected": self.rejected,
            "baseline": {"val": self.baseline["val"], "test": self.baseline["test"]},
            "best": {"version": self.best["version"], "val": self.best["val"], "test": self.best["test"]},
            "difference": None
            if self.difference is None
            else {key: self.difference[key] for key in ("mean", "low", "high", "p")},
            "metric_calls": self.metric_calls,
            "cost_usd": self.cost_usd,
            "report": self.report,
        }

    @property
    def best_text(self) -> str:
        """The best version's content as text."""
        return next(
            (str(version["text"]) for version in self.data["versions"] if version["id"] == self.best["version"]), ""
        )

    @property
    def diff(self) -> str:
        """The unified diff from the start to the best version; empty when nothing changed."""
        return str(self.data["diff"])

    def save(self, path: str | Path) -> Path:
        """Write the best version to a file, whole or not at all, and return its path. Raises ExportError."""
        from skynet.runs.export import write_text

        return write_text(Path(path), self.best_text)

    def _repr_html_(self) -> str:
        """Show itself in a notebook: the verdict, its warnings, what changed, where the report is."""
        told = headline(self.data)
        parts = [f"<p><b>{_shown(told.title)}</b><br>{_shown(told.sentence)}</p>"]
        parts += [f"<p>{_shown(text)}</p>" for text in (self.message, *self.data["warnings"]) if text]
        if self.diff:
            parts.append(f"<pre>{_shown(self.diff)}</pre>")
        spent = f"{self.metric_calls} metric calls"
        parts.append(f"<p>Run {_shown(self.run)}, {spent}. Report: {_shown(self.report or 'none')}</p>")
        return "".join(parts)


def _shown(text: str) -> str:
    return html.escape(legible(text))


def result_of(data: Mapping[str, Any], report: Path | None) -> RunResult:
    """Return the result of a report."""
    ledger = data["ledger"]
    costs = [entry["usd"] for entry in ledger]
    return RunResult(
        run=data["run"],
        name=data["name"],
        status=data["status"],
        finish_reason=data["finish_reason"],
        engine=data["engine"]["name"],
        changed=data["changed"],
        rejected=data["rejected"],
        baseline=data["baseline"],
        best=data["best"],
        difference=data["difference"],
        metric_calls=data["budget"]["metric_calls"]["used"],
        cost_usd=None if None in costs else float(sum(costs)),
        report=None if report is None else str(report),
        message=data["error"] or "",
        data=data,
    )
