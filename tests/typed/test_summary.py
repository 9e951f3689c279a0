from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from skynet.typed import (
    AgentEvalSummary,
    AgentEvalTask,
    AggregateLabelScore,
    AggregateRangeScore,
    MetricInput,
    MetricOutputSpec,
    SemanticReducer,
    SemanticView,
    ViewSignal,
)
from tests.typed.conftest import Returns, by_text, score, trial

SCORE = MetricOutputSpec.continuous_score("score")
OPTIONAL = MetricOutputSpec.continuous_score("score", required=False)


def from_text(input: MetricInput) -> dict[str, Any]:
    """A text "raise" raises, "omit" leaves the output out, anything else is the value."""
    text = input.candidate.output_text or ""
    if text == "raise":
        raise RuntimeError(text)
    return {} if text == "omit" else {"score": text}


def summary(spec: MetricOutputSpec, *texts: str | None, values: Any = from_text) -> AgentEvalSummary:
    """One task whose trials have these outputs; None is a failed trial."""
    task = AgentEvalTask(id="t", metrics=[Returns(values, [spec])])
    return score([task], [trial("t", number, text) for number, text in enumerate(texts)]).summary


def test_coverage_tells_scored_missing_and_failed_apart() -> None:
    found = summary(OPTIONAL, "1", "0", "nan", "omit", "raise", None)
    row, coverage = found.score("metric.score"), found.metric_coverage["metric"]["score"]
    assert (coverage.total, coverage.scored, coverage.missing, coverage.failed) == (6, 3, 1, 2)
    assert (row.count, row.nan_count, row.mean, row.sum) == (2, 4, 0.5, 1.0)


@given(texts=st.lists(st.sampled_from(["1", "0.25", "nan", "inf", "omit", "raise", None]), min_size=1, max_size=8))
def test_count_and_nan_count_are_the_coverage_total(texts: list[str | None]) -> None:
    found = summary(OPTIONAL, *texts)
    row, coverage = found.score("metric.score"), found.metric_coverage["metric"]["score"]
    assert row.count + row.nan_count == coverage.total == len(texts)
    assert coverage.total == coverage.scored + coverage.missing + coverage.failed


def test_an_output_omitted_everywhere_keeps_its_row() -> None:
    row = summary(OPTIONAL, "omit", "omit").score("metric.score")
    assert isinstance(row, AggregateRangeScore)
    assert (row.count, row.nan_count, row.mean, row.median, row.percentiles.p50) == (0, 2, None, None, None)
    assert row.histogram.bins == []


def test_a_row_has_the_moments_percentiles_and_histogram() -> None:
    row = summary(SCORE, "1", "2", "3", "4").score("metric.score")
    assert isinstance(row, AggregateRangeScore)
    assert (row.score_type, row.mean, row.min, row.max, row.median) == ("range", 2.5, 1.0, 4.0, 2.5)
    assert row.variance == 1.25
    assert row.sample_variance == pytest.approx(5 / 3)
    assert (row.percentiles.p10, row.percentiles.p100) == (1.0, 4.0)
    assert sum(bin.count for bin in row.histogram.bins) == 4


@pytest.mark.parametrize(
    ("spec", "texts", "mean", "nan_count"),
    [
        (MetricOutputSpec.boolean("score"), ["true", "no", "1", "yes"], 0.75, 0),
        (MetricOutputSpec.discrete_score("score"), ["1", "3"], 2.0, 0),
        (SCORE, ["0.9", "0.1"], 0.5, 0),
        (SCORE, ["inf", "0.5"], 0.5, 1),
        (MetricOutputSpec.discrete_score("score"), ["1", "9" * 400], 1.0, 1),
    ],
)
def test_the_one_way_in_which_values_are_averaged(
    spec: MetricOutputSpec, texts: list[str], mean: float, nan_count: int
) -> None:
    row = summary(spec, *texts).score("metric.score")
    assert (row.mean, row.nan_count) == (mean, nan_count)


def test_labels_are_counted_and_not_averaged() -> None:
    row = summary(MetricOutputSpec.label("score"), "good", "bad", "good", "", None).score("metric.score")
    assert isinstance(row, AggregateLabelScore)
    assert (row.count, row.nan_count, row.mean, row.mode) == (4, 1, None, "good")
    assert [(found.label, found.count) for found in row.label_distribution] == [("good", 2), ("", 1), ("bad", 1)]


class Verdict(BaseModel):
    passed: bool


def test_a_model_output_has_coverage_and_no_row() -> None:
    spec = MetricOutputSpec.model("score", Verdict)
    found = summary(spec, "x", values=lambda _: {"score": {"passed": True}})
    assert found.scores.scores == []
    assert found.metric_coverage["metric"]["score"].scored == 1


@pytest.mark.parametrize(
    ("reducer", "missing", "expected"),
    [
        (SemanticReducer.SINGLE, "unmeasured", 0.2),
        (SemanticReducer.ALL, "unmeasured", 0.2),
        (SemanticReducer.ANY, "unmeasured", 0.8),
        (SemanticReducer.MEAN, "unmeasured", 0.5),
        (SemanticReducer.WEIGHTED_MEAN, "unmeasured", pytest.approx(0.65)),
    ],
)
def test_a_view_reduces_its_signals(reducer: SemanticReducer, missing: Any, expected: float) -> None:
    assert view_mean({"a": 0.2, "b": 0.8}, reducer, missing) == expected


@pytest.mark.parametrize(("missing", "expected"), [("unmeasured", None), ("drop", 0.2), ("zero", 0.1)])
def test_a_view_of_an_unmeasured_signal_is_unmeasured_unless_asked_otherwise(missing: Any, expected: Any) -> None:
    assert view_mean({"a": 0.2}, SemanticReducer.MEAN, missing) == expected
    assert view_mean({"a": 0.2, "b": float("nan")}, SemanticReducer.MEAN, missing) == expected


def view_mean(values: dict[str, Any], reducer: SemanticReducer, missing: Any) -> float | None:
    specs = [MetricOutputSpec.continuous_score(name, required=False) for name in ("a", "b")]
    signals = [ViewSignal(metric="metric", output="a"), ViewSignal(metric="metric", output="b", weight=3)]
    view = SemanticView(reducer=reducer, signals=signals, missing=missing)
    task = AgentEvalTask(id="t", metrics=[Returns(values, specs)], views={"v": view})
    return score([task], [trial("t", 1)]).summary.score("view.v").mean


def test_a_failed_trial_counts_in_the_views_nan_count() -> None:
    view = SemanticView(
        reducer=SemanticReducer.ANY, signals=[ViewSignal(metric="metric", output="score")], missing="zero"
    )
    task = AgentEvalTask(id="t", metrics=[Returns(by_text)], views={"v": view})
    row = score([task], [trial("t", 1, "1"), trial("t", 2, None)]).summary.score("view.v")
    assert (row.count, row.nan_count, row.mean) == (1, 1, 1.0)


def test_pass_at_k_stands_apart_and_counts_a_dead_trial_but_no_metric_failure() -> None:
    found = summary(SCORE, "1", "2", "0.9", None, "raise", "nan")  # four trials, two of them passes
    assert [row.name for row in found.scores.scores] == ["metric.score"]
    rows = {row.name: row for row in found.pass_at_k.scores}
    assert rows["metric.score.pass@1"].mean == 0.5
    assert rows["metric.score.pass@2"].mean == pytest.approx(1 - 1 / 6)
    assert rows["metric.score.pass@4"].mean == 1.0
    assert (rows["metric.score.pass@5"].count, rows["metric.score.pass@5"].nan_count) == (0, 1)
    assert list(rows)[-1] == "metric.score.pass@6"


@pytest.mark.parametrize("factory", ["discrete_score", "label"])
def test_only_continuous_and_boolean_outputs_have_pass_at_k(factory: str) -> None:
    assert summary(getattr(MetricOutputSpec, factory)("score"), "1").pass_at_k.scores == []


def test_pass_at_k_is_the_mean_over_tasks() -> None:
    tasks = [AgentEvalTask(id=name, metrics=[Returns(by_text)]) for name in ("a", "b")]
    trials = [trial("a", 1, "1"), trial("a", 2, "0"), trial("b", 1, "1")]
    found = score(tasks, trials).summary.pass_at_k
    assert found.score("metric.score.pass@1").mean == 0.75
    assert (found.score("metric.score.pass@2").count, found.score("metric.score.pass@2").nan_count) == (1, 1)


def test_the_values_of_each_trial_and_the_errors_are_kept() -> None:
    found = summary(OPTIONAL, "1", "omit", None)
    values = found.task_metric_values["t"]["metric.score"]
    assert [(value.trial_id, value.value_type, value.value) for value in values] == [
        ("t-0", "number", 1.0), ("t-1", "missing", None), ("t-2", "missing", None)
    ]  # fmt: skip
    assert found.error_trial_ids == {"UnknownError": ["t-2"]}
    assert (found.task_count, found.trial_count, found.score_count, found.error_count) == (1, 3, 3, 1)


def test_an_unknown_row_names_the_rows_there_are() -> None:
    with pytest.raises(KeyError, match=r"it has: metric\.score"):
        summary(SCORE, "1").score("metric.scor")


def test_a_summary_is_strict_json() -> None:
    text = json.dumps(summary(SCORE, "nan", "inf", "1").to_json(), allow_nan=False)
    assert json.loads(text)["task_metric_values"]["t"]["metric.score"][1]["value"] == "Infinity"
