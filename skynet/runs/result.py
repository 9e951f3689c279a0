"""A run's result: what the command line prints as JSON and what `skynet.optimize` returns."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from skynet.artifact import Artifact, Content
from skynet.runs.report.show import dollars, legible, one_line, score
from skynet.runs.report.words import Headline, headline
from skynet.summary.comparison import Comparison

_TEXT_CHARS = 60  # of a version's text in its repr


class _Fields(Mapping[str, Any]):
    """A frozen object that is also read as the JSON object of the same fields."""

    __slots__ = ()
    _names: ClassVar[tuple[str, ...]] = ()

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(name)
        return getattr(self, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MeasuredVersion(_Fields):
    """A version and its mean scores; None where it was not scored, or where the run has no version.

    It is a mapping of version, val and test too, as in the JSON.
    """

    version: str | None
    val: float | None
    test: float | None
    artifact: Artifact | None = None

    _names: ClassVar[tuple[str, ...]] = ("version", "val", "test")

    @property
    def content(self) -> Content | None:
        """A text, a dict of texts by part, or a program's state; None without a version."""
        return None if self.artifact is None else self.artifact.content

    @property
    def text(self) -> str:
        """The content as a person reads it; empty without a version."""
        return "" if self.artifact is None else self.artifact.text

    def __repr__(self) -> str:
        shown = one_line(self.text, _TEXT_CHARS)
        return f"MeasuredVersion(version={self.version!r}, val={self.val}, test={self.test}, text={shown!r})"


@dataclass(frozen=True, slots=True, eq=False)
class Difference(Comparison, _Fields):
    """Best minus start on test, case by case; a mapping of the same fields too, as in the report."""

    _names: ClassVar[tuple[str, ...]] = tuple(Comparison.__dataclass_fields__)


@dataclass(frozen=True, slots=True, repr=False)
class RunResult:
    """One run's result: `print` it for a summary. `data` is the whole report; the rest is the command line's JSON.

    `difference` is None without a verdict, `cost_usd` where a price is unknown. `report` is the path of the page.
    """

    run: str
    name: str
    status: str
    finish_reason: str | None
    engine: str
    changed: bool
    rejected: str | None
    baseline: MeasuredVersion
    best: MeasuredVersion
    difference: Difference | None
    metric_calls: int
    cost_usd: float | None
    report: str | None
    message: str
    data: Mapping[str, Any] = field(repr=False)

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
            "baseline": {"val": self.baseline.val, "test": self.baseline.test},
            "best": dict(self.best),
            "difference": None
            if self.difference is None
            else {key: self.difference[key] for key in ("mean", "low", "high", "p")},
            "metric_calls": self.metric_calls,
            "cost_usd": self.cost_usd,
            "report": self.report,
            "error": self.message or None,
        }

    @property
    def diff(self) -> str:
        """The unified diff from the start to the best version; empty when nothing changed."""
        return str(self.data["diff"])

    @property
    def warnings(self) -> list[str]:
        """What speaks against trusting the verdict, as sentences."""
        return [str(text) for text in self.data["warnings"]]

    def save(self, path: str | Path) -> Path:
        """Write the best version to a file, or parts to a folder, and return the path. Raises ExportError."""
        from skynet.runs.export import ExportError, write_artifact

        target = Path(path)
        if self.best.artifact is None:
            raise ExportError(f"run {self.run} ended before it had a version, so there is nothing to write")
        if self.best.artifact.kind == "dspy" and target.suffix == ".py":
            raise ExportError(
                f"the best version is a program's state: save it as {target.with_suffix('.json')}, which program.load "
                f"reads, or write the whole program with `skynet runs export {self.run} -o {target}`"
            )
        return write_artifact(target, self.best.artifact)

    def __repr__(self) -> str:
        scores = f"test {score(self.baseline.test)} -> {score(self.best.test)}"
        return f"<RunResult {self.run}: {self._ended()}, {scores}, {self.metric_calls} metric calls>"

    def __str__(self) -> str:
        """Tell how the run ended, what was gained on test and what it cost, in some lines."""
        told = self._told()
        head = f"Run {self.run} of {self.name}, engine {self.engine}: {self._ended()}"
        rows = [("", "val", "test", "version"), *self._sides()]
        table = [f"{name:<6}{val:>8}{test:>8}  {version}".rstrip() for name, val, test, version in rows]
        notes = [*([self.message] if self.message else []), *(f"Warning: {text}" for text in self.warnings)]
        lines = [head, told.title, told.sentence, *table, *notes, f"Spent: {self._spent()}"]
        return legible("\n".join([*lines, f"Report: {self.report or 'none'}"]))

    def _repr_html_(self) -> str:
        """Show itself in a notebook: the verdict, its warnings, what changed, where the report is."""
        told = self._told()
        cells = "".join(f"<tr>{''.join(f'<td>{_shown(cell)}</td>' for cell in row)}</tr>" for row in self._sides())
        parts = [
            f"<p><b>{_shown(told.title)}</b><br>{_shown(told.sentence)}</p>",
            f"<table><tr><th></th><th>val</th><th>test</th><th>version</th></tr>{cells}</table>",
        ]
        parts += [f"<p>{_shown(text)}</p>" for text in (self.message, *self.warnings) if text]
        if self.diff:
            parts.append(f"<pre>{_shown(self.diff)}</pre>")
        parts.append(f"<p>Run {_shown(self.run)}, {self._spent()}. Report: {_shown(self.report or 'none')}</p>")
        return "".join(parts)

    def _told(self) -> Headline:
        """Return the verdict in words; a run that was cut goes on from Python as it began there."""
        told = headline(self.data)
        command = f"skynet runs resume {self.run}"
        return Headline(told.tone, told.title, told.sentence.replace(command, f'optimize(..., resume="{self.run}")'))

    def _ended(self) -> str:
        return f"{self.status} ({self.finish_reason})" if self.finish_reason else self.status

    def _spent(self) -> str:
        cost = "cost unknown" if self.cost_usd is None else dollars(self.cost_usd)
        return f"{self.metric_calls} metric calls, {cost}"

    def _sides(self) -> list[tuple[str, str, str, str]]:
        sides = {"start": self.baseline, "best": self.best}
        return [(name, score(one.val), score(one.test), one.version or "") for name, one in sides.items()]


def _shown(text: str) -> str:
    return html.escape(legible(text))


def result_of(data: Mapping[str, Any], report: Path | None, artifacts: Mapping[str, Artifact]) -> RunResult:
    """Return the result of a report; `artifacts` are the run's by version."""
    costs = [entry["usd"] for entry in data["ledger"]]
    difference = data["difference"]
    sides = {side: _measured(data[side], artifacts) for side in ("baseline", "best")}
    return RunResult(
        run=data["run"],
        name=data["name"],
        status=data["status"],
        finish_reason=data["finish_reason"],
        engine=data["engine"]["name"],
        changed=data["changed"],
        rejected=data["rejected"],
        **sides,
        difference=None if difference is None else Difference(**difference),
        metric_calls=data["budget"]["metric_calls"]["used"],
        cost_usd=None if data["budget"]["usd"]["lower_bound"] else float(sum(costs)),
        report=None if report is None else str(report),
        message=data["error"] or "",
        data=data,
    )


def _measured(side: Mapping[str, Any], artifacts: Mapping[str, Artifact]) -> MeasuredVersion:
    return MeasuredVersion(side["version"], side["val"], side["test"], artifacts.get(side["version"]))
