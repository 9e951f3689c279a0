from __future__ import annotations

from typing import Any

import pytest

from skynet.data.case import Case
from skynet.runs.evaluation_corpus import corpus_of
from skynet.scorers import corpus_bleu

OUTPUTS = ["The cat is on the mat.", "A dog."]
FIRST = ["The cat sits on the mat.", "The dog barks loudly at the door."]
SECOND = ["A cat is on the mat.", "A dog barks."]
ROWS = [
    (Case(str(place), {}, {"label": first, "other": second}, "", place), output)
    for place, (output, first, second) in enumerate(zip(OUTPUTS, FIRST, SECOND, strict=True), 1)
]


@pytest.mark.parametrize(
    ("options", "outputs", "expected", "own"),
    [
        ({"column": "label"}, OUTPUTS, FIRST, {}),
        ({"reference": ["{{ item.label }}", "{{ item.other }}"]}, OUTPUTS, list(zip(FIRST, SECOND, strict=True)), {}),
        ({"column": "other", "tokenize": "char", "effective_order": False}, OUTPUTS, SECOND, {"tokenize": "char"}),
        ({"column": "label", "output": "{{ sample.output_text | upper }}"}, [o.upper() for o in OUTPUTS], FIRST, {}),
        ({"expected": "A dog."}, OUTPUTS, ["A dog."] * 2, {}),
        ({"column": "label", "profile": "nemo"}, OUTPUTS, FIRST, {"profile": "nemo"}),
    ],
)
def test_bleu_of_the_corpus_is_counted_once_over_all_rows_and_references(
    options: dict[str, Any], outputs: list[str], expected: list[Any], own: dict[str, Any]
) -> None:
    found = corpus_of("bleu", options, ROWS)
    assert found is not None
    assert (found.score, found.rows) == (corpus_bleu(outputs, expected, **own), 2)
    assert 0 < found.score < 100


@pytest.mark.parametrize(("type", "rows"), [("rouge", ROWS), ("bleu", [])])
def test_other_metrics_and_no_rows_have_no_score_of_the_corpus(type: str, rows: list[Any]) -> None:
    assert corpus_of(type, {"column": "label"}, rows) is None
