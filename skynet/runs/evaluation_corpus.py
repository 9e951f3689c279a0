"""Scores of all rows together, which are not the mean of the rows' own: BLEU of a corpus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from skynet.data.case import Case
from skynet.scorers import corpus_bleu
from skynet.scorers.on_cases import as_metric

_BLEU = "bleu"
_OWN = ("tokenize", "profile")  # options of bleu that corpus_bleu has too
_WHERE = ("column", "output", "reference", "expected")


@dataclass(frozen=True, slots=True)
class Corpus:
    """One score over all measured rows, each with every reference."""

    name: str
    score: float
    rows: int

    @property
    def told(self) -> str:
        """The score in words."""
        return f"{self.name} of all {self.rows} scored rows together {self.score:.4g}"

    def to_json(self) -> dict[str, Any]:
        """Return what `summary.json` says."""
        return asdict(self)


def corpus_of(type: str, options: Mapping[str, Any], rows: Sequence[tuple[Case, Any]]) -> Corpus | None:
    """Return the corpus BLEU of a metric of type bleu over its measured rows; None for other types and without rows."""
    if type.replace("-", "_") != _BLEU or not rows:
        return None
    seen: list[tuple[object, object]] = []

    def gather(output: object, expected: object) -> tuple[float, dict[str, Any]]:
        seen.append((output, expected))
        return 0.0, {"feedback": ""}

    metric = as_metric(gather, **{name: value for name, value in options.items() if name in _WHERE})
    for case, output in rows:
        metric(case.input, output, case.expected)
    own = {name: value for name, value in options.items() if name in _OWN}
    outputs, expected = zip(*seen, strict=True)
    return Corpus("corpus_bleu", corpus_bleu(outputs, expected, **own), len(rows))
