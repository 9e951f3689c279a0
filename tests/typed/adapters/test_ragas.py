"""Against stand-ins of ragas' shapes: a sample with its fields, or the fields as keywords."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest

from skynet.metric.contract import Scored, Unmeasured, validate
from skynet.typed import MetricError, adapt


class SingleTurn:
    """The older shape; it has the deprecated `ascore(row)` too."""

    async def single_turn_ascore(self, sample: Any, callbacks: Any = None) -> float:
        assert (sample.user_input, sample.reference, sample.rubrics) == ("Capital?", "Paris", None)
        return math.nan if sample.response == "?" else float(len(sample.retrieved_contexts or []))

    async def ascore(self, row: Any) -> float:
        raise AssertionError("deprecated")


class Collections:
    async def ascore(self, response: str, reference: str, retrieved_contexts: list[str]) -> Any:
        hit = response == reference
        return SimpleNamespace(value=float(hit), reason=f"{reference} in {retrieved_contexts}")


class Decorated:
    async def ascore(self, **fields: Any) -> Any:
        return SimpleNamespace(value=fields["verdict"], reason=f"{sorted(fields)}")


def run(metric: Any, output: Any = "Paris", input: Any = None, **options: Any) -> Any:
    return validate(adapt(metric, **options)(input or {"user_input": "Capital?"}, output, {"city": "Paris"}))


def test_a_sample_has_ragas_fields() -> None:
    rows = {"user_input": "Capital?", "docs": ["a", "b"]}
    assert run(SingleTurn, input=rows, fields={"retrieved_contexts": "docs"}).score == 2.0


def test_nan_is_unmeasured() -> None:
    assert isinstance(run(SingleTurn(), "?"), Unmeasured)


def test_keywords_are_those_that_ascore_names() -> None:
    found = run(Collections(), input={"user_input": "Capital?", "retrieved_contexts": ["It is Paris."]})
    assert isinstance(found, Scored)
    assert (found.score, found.feedback) == (
        1.0, "[expected value removed] in ['It is [expected value removed].']"
    )  # fmt: skip


def test_a_required_field_without_a_column_is_told() -> None:
    with pytest.raises(MetricError, match=r'needs retrieved_contexts.*fields=\{"retrieved_contexts"'):
        run(Collections())


def test_a_metric_that_takes_any_keyword_gets_the_columns_and_the_arguments() -> None:
    found = run(Decorated(), arguments={"verdict": "good"}, labels={"good": 0.75})
    assert (found.score, found.feedback) == (0.75, "['city', 'reference', 'response', 'user_input', 'verdict']")
