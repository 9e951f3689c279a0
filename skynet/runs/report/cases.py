"""The per-case comparison of start and best: what came of each case, and in which order to read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Outcome = Literal["won", "lost", "other", "same", "open"]
Side = Mapping[str, Any]

_TIE = 1e-9  # relative; a smaller difference is float noise
_SPLITS = {"test": 0, "val": 1, "train": 2}


@dataclass(frozen=True, slots=True)
class CaseRow:
    """One case and repetition. `change` is best minus start; None when either has no score that counts.

    `outcome`: won, lost, `other` (same score, other output), `same`, or `open` (not compared).
    """

    split: str
    case: str
    repetition: int | None
    input: Any
    expected: Any
    start: Side | None
    best: Side | None
    change: float | None
    outcome: Outcome

    @property
    def changed(self) -> bool:
        """Whether something about this case differs between start and best, or could not be compared."""
        return self.outcome != "same"


def case_rows(report: Mapping[str, Any]) -> list[CaseRow]:
    """Return the cases: by split, then the largest change (losses before wins), repetitions side by side."""
    cases = report.get("cases") or []
    failure_score = report.get("failure_score")
    repeated = any((case.get("repetition") or 0) > 0 for case in cases)
    groups: dict[tuple[str, str], list[CaseRow]] = {}
    for case in cases:
        row = _row(case, failure_score, repeated)
        groups.setdefault((row.split, row.case), []).append(row)
    ordered = sorted(groups.values(), key=_rank)
    return [row for group in ordered for row in group]


def counting_score(side: Side | None, failure_score: float | None) -> float | None:
    """Return the score that counts: the metric's, or the failure score where the target failed; else None."""
    if side is None:
        return None
    value: float | None = side.get("score")
    if value is None and side.get("failure") == "target":
        return failure_score
    return value


def _row(case: Mapping[str, Any], failure_score: float | None, repeated: bool) -> CaseRow:
    start, best = case.get("start"), case.get("best")
    before, after = counting_score(start, failure_score), counting_score(best, failure_score)
    change = None if before is None or after is None else after - before
    if change is not None and before is not None and after is not None:
        change = 0.0 if abs(change) <= _TIE * max(abs(before), abs(after)) else change
    return CaseRow(
        split=str(case.get("split") or ""),
        case=str(case.get("case")),
        repetition=(case.get("repetition") or 0) + 1 if repeated else None,
        input=case.get("input"),
        expected=case.get("expected"),
        start=start,
        best=best,
        change=change,
        outcome=_outcome(change, start, best),
    )


def _outcome(change: float | None, start: Side | None, best: Side | None) -> Outcome:
    if change is None or start is None or best is None:
        return "open"
    if change:
        return "won" if change > 0 else "lost"
    return "same" if start.get("output") == best.get("output") else "other"


def _rank(group: Sequence[CaseRow]) -> tuple[int, int, float, bool]:
    """Test, val, train; in each the changed scores by size, losses first, then open, other outputs, unchanged."""
    split = _SPLITS.get(group[0].split, len(_SPLITS))
    outcomes = {row.outcome for row in group}
    if outcomes & {"won", "lost"}:
        changes = [row.change for row in group if row.change is not None]
        mean = sum(changes) / len(changes)
        return split, 0, -abs(mean), mean > 0
    return split, 1 if "open" in outcomes else 2 if "other" in outcomes else 3, 0.0, False
