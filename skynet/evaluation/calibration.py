"""A judge against human labels: it is asked about each row twice, with different seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

from skynet.data.case import Case
from skynet.errors import SkynetError
from skynet.evaluation.case_run import ticket_for
from skynet.evaluation.labelled_rows import LabelledRow, by_threshold, label_of
from skynet.evaluation.project import Project
from skynet.evaluation.scoring import Metric, MetricResult
from skynet.evaluation.stages import told
from skynet.models.seeded import Seeded
from skynet.summary.agreement import Agreement, agreement_of

ASKINGS = 2
HALF = 0.5  # a score of this and more is a pass, where nobody says otherwise
OnRow = Callable[[int, int], None]  # rows done, rows in all


@dataclass(frozen=True, slots=True)
class Judged:
    """What the judge said of one row in one asking. `label` is None where it did not judge, which `reason` explains."""

    label: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A row on which the judge's first answer is not the human's."""

    row: str
    line: int
    output: Any
    human: str
    judge: str
    reason: str


@dataclass(frozen=True, slots=True)
class Column:
    """The judge against one human column: the human's label is the first of each pair."""

    column: str
    agreement: Agreement
    disagreements: tuple[Disagreement, ...]


@dataclass(frozen=True, slots=True)
class People:
    """Two human columns against each other."""

    first: str
    second: str
    agreement: Agreement


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A row that the judge labelled differently when asked again."""

    row: str
    line: int
    first: str
    second: str


@dataclass(frozen=True, slots=True)
class Calibration:
    """A whole calibration. `people` shows how far people agree, which bounds what a judge can reach. `repeated` counts
    the rows judged in both askings; `failures` are the rows that were not judged at first."""

    rows: int
    judged: int
    columns: tuple[Column, ...]
    people: tuple[People, ...]
    repeated: int
    contradictions: tuple[Contradiction, ...]
    failures: dict[str, str]
    warnings: tuple[str, ...]

    @property
    def contradiction_rate(self) -> float | None:
        """How often the judge contradicts itself, None when no row was judged twice."""
        return len(self.contradictions) / self.repeated if self.repeated else None

    def to_json(self) -> dict[str, Any]:
        """Return the fields and the contradiction rate as plain values."""
        return {**asdict(self), "contradiction_rate": self.contradiction_rate}


def calibrate(
    project: Project,
    rows: Sequence[LabelledRow],
    threshold: float | None = None,
    *,
    on_row: OnRow = lambda done, rows: None,
) -> Calibration:
    """Ask the project's metric about every row and compare.

    The judge's label is its choice; with `threshold`, or from a metric without choices, pass or fail by its score.
    Raises SkynetError when the metric does not load, or its model refuses the first row for good.
    """
    loaded = project.metric.load()
    if loaded.fault is not None:
        raise SkynetError(f"the metric does not load: {told(loaded.fault, loaded.stderr)}")
    metrics = [project.metric.through(Seeded(project.gateway, seed)) for seed in range(1, ASKINGS + 1)]
    first = _ask(metrics, rows[0], threshold, preflight=True)
    on_row(1, len(rows))
    with ThreadPoolExecutor(max_workers=project.spec.evaluation.concurrency) as threads:
        answers = [first]
        for judged in threads.map(lambda row: _ask(metrics, row, threshold), rows[1:]):
            answers.append(judged)
            on_row(len(answers), len(rows))
    return _compared(rows, answers)


def _ask(metrics: Sequence[Metric], row: LabelledRow, threshold: float | None, preflight: bool = False) -> list[Judged]:
    case = Case(row.id, row.input, row.expected, row.file, row.line)
    results = []
    for number, metric in enumerate(metrics):
        result = metric.score(case, row.output, ticket_for(0, "", case, number), None)
        if preflight and result.fault is not None and result.fault.data.get("permanent"):
            raise SkynetError(f"the judge cannot be asked: {result.fault.message}")
        results.append(_judged(result, threshold))
    return results


def _judged(result: MetricResult, threshold: float | None) -> Judged:
    if result.fault is not None:
        return Judged(None, str(result.fault))
    if result.unmeasured is not None or result.score is None:
        return Judged(None, result.unmeasured or "")
    choice = result.side_info.get("choice")
    if threshold is None and isinstance(choice, str):
        return Judged(label_of(choice), result.feedback)
    return Judged(by_threshold(result.score, HALF if threshold is None else threshold), result.feedback)


def _compared(rows: Sequence[LabelledRow], answers: Sequence[Sequence[Judged]]) -> Calibration:
    firsts = [judged[0] for judged in answers]
    names = list(rows[0].labels)
    both = [
        (row, first.label, second.label)
        for row, (first, second) in zip(rows, answers, strict=True)
        if first.label is not None and second.label is not None
    ]
    columns = tuple(_column(name, rows, firsts) for name in names)
    return Calibration(
        rows=len(rows),
        judged=sum(first.label is not None for first in firsts),
        columns=columns,
        people=tuple(_people(rows, one, other) for one, other in combinations(names, 2)),
        repeated=len(both),
        contradictions=tuple(
            Contradiction(row.id, row.line, first, second) for row, first, second in both if first != second
        ),
        failures={row.id: first.reason for row, first in zip(rows, firsts, strict=True) if first.label is None},
        warnings=tuple(text for column in columns if (text := _no_shared_label(column))),
    )


def _no_shared_label(column: Column) -> str:
    """Say so where the human and the judge have no label in common: the column is wrong, or the words differ."""
    confusion = column.agreement.confusion
    human = {label for label, row in confusion.items() if any(row.values())}
    judge = {label for row in confusion.values() for label, count in row.items() if count}
    if not human or human & judge:
        return ""
    named = [", ".join(map(repr, sorted(labels))) for labels in (human, judge)]
    return (
        f"{column.column!r} holds {named[0]}, and the judge says {named[1]}: no label in common. "
        "Use the judge's choices as labels, or numbers with a threshold."
    )


def _column(name: str, rows: Sequence[LabelledRow], firsts: Sequence[Judged]) -> Column:
    known = [
        (row, human, first.label, first.reason)
        for row, first in zip(rows, firsts, strict=True)
        if (human := row.labels[name]) is not None and first.label is not None
    ]
    return Column(
        name,
        agreement_of([(human, label) for _, human, label, _ in known]),
        tuple(
            Disagreement(row.id, row.line, row.output, human, label, reason)
            for row, human, label, reason in known
            if human != label
        ),
    )


def _people(rows: Sequence[LabelledRow], one: str, other: str) -> People:
    pairs = [(row.labels[one], row.labels[other]) for row in rows]
    known = [(first, second) for first, second in pairs if first is not None and second is not None]
    return People(one, other, agreement_of(known))
