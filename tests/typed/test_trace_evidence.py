from __future__ import annotations

from typing import Any

import pytest

from skynet.typed import CandidateEvidence, EvidenceDescriptor, EvidenceError, Step, Trajectory
from skynet.typed.trace_evidence import evidence_of, steps_of
from tests.typed.conftest import run

ATIF = Trajectory(schema_version="ATIF-v1.7", steps=[Step(source="agent")])
EVIDENCE = CandidateEvidence(descriptors={"trace": EvidenceDescriptor(kind="trace", data=ATIF.model_dump())})


@pytest.mark.parametrize(
    ("trace", "format"),
    [
        (ATIF, "atif"),
        (ATIF.model_dump(mode="json"), "atif"),
        ({"resourceSpans": []}, "otlp"),
        ([{"scopeSpans": []}], "otlp"),
        (EVIDENCE, "atif"),
        (EVIDENCE.model_dump(mode="json"), "atif"),
    ],
)
def test_a_trace_is_recognised_by_its_form(trace: Any, format: str) -> None:
    evidence = evidence_of(trace)
    assert evidence is not None
    assert run(evidence.trace()).format == format


def test_no_trace_is_no_evidence() -> None:
    assert evidence_of(None) is None


@pytest.mark.parametrize("trace", [["called search"], "text", {"calls": 2}])
def test_a_trace_of_another_form_is_kept_and_told_to_a_metric_that_asks(trace: Any) -> None:
    evidence = evidence_of(trace)
    assert evidence is not None
    assert evidence.require("trace").data == trace
    with pytest.raises(EvidenceError, match="json"):
        run(evidence.trace())


@pytest.mark.parametrize(
    ("trace", "steps"),
    [(None, []), ([1, 2], [1, 2]), ({"steps": [1]}, [1]), ({"a": 1}, [{"a": 1}]), (ATIF, ATIF.steps)],
)
def test_the_steps_of_a_trace_are_a_list(trace: Any, steps: list[Any]) -> None:
    assert steps_of(trace) == steps
