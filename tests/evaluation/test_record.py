from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skynet.evaluation.record import Record
from skynet.workers.fault import Fault

PLAIN: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | st.dates()
    | st.decimals(allow_nan=False),
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(), inner)
        | st.dictionaries(st.integers(), inner)
    ),
    max_leaves=8,
)
FAULT = Fault("raised", "boo", "ValueError", "Traceback: boo", "metric.py", 3, {"stage": "Metric load", "n": (1, 2)})


def record(**fields: Any) -> Record:
    return Record(**{"version": "v1", "case": "c1", "repetition": 0, "status": "ok", "score": 1.0, **fields})


def failed(failure: str, **fields: Any) -> Record:
    return record(status="failed", failure=failure, score=None, fault=FAULT, **fields)


@settings(max_examples=40)
@given(output=PLAIN, side_info=st.dictionaries(st.text(), PLAIN), trace=PLAIN)
def test_a_record_comes_back_from_json_as_it_was(output: Any, side_info: dict[str, Any], trace: Any) -> None:
    before = record(output=output, side_info=side_info, trace=trace, warnings=("w",), elapsed_ms=1.5, cost_usd=None)
    assert Record.from_json(json.loads(json.dumps(before.to_json()))) == before


@pytest.mark.parametrize(
    "output",
    [float("inf"), "\ud800", b"x", Decimal("1.10"), date(2025, 1, 2), {1: (2,)}, [10**5000]],
    ids=lambda value: type(value).__name__,
)
def test_odd_outputs_survive_strict_ascii_json(output: Any) -> None:
    text = json.dumps(record(output=output, fault=FAULT).to_json())
    assert text.isascii()
    assert Record.from_json(json.loads(text)).output == output


def test_a_fault_survives() -> None:
    assert Record.from_json(json.loads(json.dumps(failed("metric").to_json()))).fault == FAULT


def test_an_engine_sees_score_and_feedback_but_no_expected_value() -> None:
    seen = record(feedback="fine", scores={"a": 0.5}, side_info={"expected": "secret", "note": 1}).seen(
        "train", 0.7, 100
    )
    assert (seen.value, seen.score, seen.feedback, seen.scores) == (0.7, 1.0, "fine", {"a": 0.5})
    assert (seen.split, seen.error, seen.side_info) == ("train", None, {"note": 1})


def test_a_target_failure_is_told_with_traceback_and_prints() -> None:
    seen = failed("target", stdout="printed\n", stderr="warned\n").seen("train", 0.0, 1000)
    assert seen.error == "Traceback: boo\nstdout:\nprinted\nstderr:\nwarned"
    assert seen.feedback == seen.error


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        ("metric", "the metric failed on this output (ValueError); no score"),
        ("provider", "a model's provider failed; no score"),
    ],
)
def test_of_the_metrics_and_the_providers_failures_an_engine_learns_the_kind_only(failure: str, told: str) -> None:
    seen = failed(failure, stdout="label: billing").seen("train", 0.0, 1000)
    assert seen.error == told
    assert "boo" not in str(seen)
    assert "billing" not in str(seen)


def test_feedback_and_error_are_cut_for_an_engine() -> None:
    assert len(record(feedback="a" * 10_000).seen("train", 1.0, 100).feedback) < 200
    long = Fault("raised", "boo", traceback="x" * 10_000)
    seen = record(status="failed", failure="target", score=None, fault=long).seen("train", 0.0, 100)
    assert seen.error is not None
    assert len(seen.error) < 200


def test_without_a_failure_there_is_no_error_text() -> None:
    assert record().error_text() is None
