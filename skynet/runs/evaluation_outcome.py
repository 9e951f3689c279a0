"""What an evaluation job found: the items of each metric, their average and coverage, and the comparison."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from skynet.errors import SkynetError, nearest
from skynet.evaluation.display import number, printable
from skynet.evaluation.record import Record
from skynet.runs.evaluation_corpus import Corpus
from skynet.summary.aggregate import mean_of
from skynet.summary.comparison import Comparison
from skynet.summary.coverage import OutputCoverage, State, count_states


@dataclass(frozen=True, slots=True)
class Item:
    """One row under one metric. `score` is None for a failed and for an unmeasured one; `error` only for a failed."""

    id: str
    score: float | None
    reasoning: str
    error: str | None
    output: Any = None
    scores: Mapping[str, float] = field(default_factory=dict)
    failure: str | None = None

    @property
    def state(self) -> State:
        """Whether the row was scored, left unmeasured, or failed."""
        return "failed" if self.error is not None else "missing" if self.score is None else "scored"

    def to_json(self) -> dict[str, Any]:
        """Return what an output file says of the row."""
        return {"id": self.id, "score": self.score, "reasoning": self.reasoning, "error": self.error}


def item_of(record: Record) -> Item:
    """Return a record as an item."""
    error = None if record.fault is None else (record.error_text() or str(record.fault))
    reasoning = record.feedback if error is None else ""
    return Item(record.case, record.score, reasoning, error, record.output, record.scores, record.failure)


@dataclass(frozen=True, slots=True)
class MetricOutcome:
    """Everything under one metric, in the rows' order. `least` is what `--fail-under` asks of the average.

    `corpus` is None where the metric's type has no score of all rows together.
    """

    name: str
    type: str
    items: tuple[Item, ...]
    comparison: Comparison | None = None
    least: float | None = None
    corpus: Corpus | None = None

    @property
    def average_score(self) -> float | None:
        """The mean of the measured scores; None when there is none."""
        scores = [item.score for item in self.items if item.score is not None]
        return mean_of(scores) if scores else None

    @property
    def coverage(self) -> OutputCoverage:
        """How many rows were scored, left unmeasured, and failed."""
        return count_states(item.state for item in self.items)

    @property
    def passed(self) -> bool | None:
        """Whether the average is at least `least`; None where nothing was asked. Without an average it is not."""
        if self.least is None:
            return None
        return self.average_score is not None and self.average_score >= self.least

    def named_scores(self) -> dict[str, float]:
        """Return the mean of each named score over the rows that have it."""
        found: dict[str, list[float]] = {}
        for item in self.items:
            for name, value in item.scores.items():
                found.setdefault(name, []).append(value)
        return {name: mean_of(values) for name, values in found.items()}

    def output_file(self) -> dict[str, Any]:
        """Return the object of `NAME_eval_output.json`."""
        return {"average_score": self.average_score, "eval_output_items": [item.to_json() for item in self.items]}

    def summary(self) -> dict[str, Any]:
        """Return the metric's part of `summary.json`."""
        coverage, failures = self.coverage, [item.failure for item in self.items if item.failure is not None]
        share = coverage.scored / coverage.total if coverage.total else None
        return {
            "type": self.type,
            "average_score": self.average_score,
            "coverage": {**coverage.to_json(), "share": share},
            "failures": {kind: failures.count(kind) for kind in ("target", "metric", "provider")},
            "scores": self.named_scores(),
            "corpus": None if self.corpus is None else self.corpus.to_json(),
            "comparison": None if self.comparison is None else self.comparison.to_json(),
            "fail_under": self.least,
            "passed": self.passed,
        }


@dataclass(frozen=True, slots=True, repr=False)
class JobResult:
    """A whole job: `print` it for a summary. `folder` is that of its files, None where none were written."""

    name: str
    outputs: str
    rows: int
    metrics: tuple[MetricOutcome, ...]
    started_at: float
    seconds: float
    ledger: Sequence[Mapping[str, Any]]
    warnings: tuple[str, ...]
    folder: Path | None = None

    @property
    def ok(self) -> bool:
        """Whether every metric scored a row and none is under what was asked of it."""
        return all(one.average_score is not None and one.passed is not False for one in self.metrics)

    @property
    def cost_usd(self) -> float | None:
        """What the model calls cost, None when a price is unknown."""
        costs = [entry["usd"] for entry in self.ledger]
        return None if None in costs else float(sum(costs))

    def summary(self) -> dict[str, Any]:
        """Return the object of `summary.json`."""
        return {
            "schema": 1,
            "name": self.name,
            "outputs": self.outputs,
            "rows": self.rows,
            "ok": self.ok,
            "started_at": self.started_at,
            "seconds": self.seconds,
            "metrics": {one.name: one.summary() for one in self.metrics},
            "ledger": list(self.ledger),
            "cost_usd": self.cost_usd,
            "warnings": list(self.warnings),
        }

    def metric(self, name: str) -> MetricOutcome:
        """Return everything under the metric of this name. Raises SkynetError."""
        for one in self.metrics:
            if one.name == name:
                return one
        known = [one.name for one in self.metrics]
        raise SkynetError(f"the job has no metric {name!r}; it has {', '.join(known)}.{nearest(name, known)}")

    def __repr__(self) -> str:
        averages = ", ".join(f"{one.name} {_average(one)}" for one in self.metrics)
        return f"<JobResult {self.name}: {self.rows} rows, {averages}>"

    def __str__(self) -> str:
        """Tell the average and the coverage of each metric, what the job cost, and where its files are."""
        cost = "unknown" if self.cost_usd is None else f"${number(self.cost_usd)}"
        lines = [f"{self.name}: {self.rows} rows, outputs: {self.outputs}", *map(_line, self.metrics)]
        lines += [f"Warning: {text}" for text in self.warnings]
        lines.append(f"Model calls: {sum(entry['calls'] for entry in self.ledger)}, cost {cost}")
        return printable("\n".join([*lines, f"Files: {'none' if self.folder is None else self.folder}"]))

    def _repr_html_(self) -> str:
        """Show itself in a notebook."""
        return "".join(f"<div>{html.escape(line)}</div>" for line in str(self).splitlines())

    def to_json(self) -> dict[str, Any]:
        """Return the object that `skynet eval --json` prints."""
        return {**self.summary(), "folder": None if self.folder is None else str(self.folder)}


def _average(one: MetricOutcome) -> str:
    return "-" if one.average_score is None else number(one.average_score)


def _line(one: MetricOutcome) -> str:
    found, least = one.coverage, one.least
    under = f", under {number(least)}" if one.passed is False and least is not None else ""
    return f"{one.name}: {_average(one)}{under} ({found.scored} of {found.total} scored, {found.failed} failed)"
