"""A case's recorded trace as the evidence of a trial."""

from __future__ import annotations

from typing import Any

from skynet.typed.atif import Trajectory
from skynet.typed.evidence import (
    EVIDENCE_FORMAT_ATIF,
    EVIDENCE_FORMAT_JSON,
    EVIDENCE_FORMAT_OTLP,
    EVIDENCE_TRACE,
    CandidateEvidence,
    EvidenceDescriptor,
)

_OTLP_KEYS = {"resourceSpans", "resource_spans", "scopeSpans", "scope_spans"}


def evidence_of(trace: Any) -> CandidateEvidence | None:
    """Return the evidence that holds `trace`; None when there is no trace.

    Evidence is taken as it is. ATIF and OTLP are recognised by their form; anything else is kept as plain JSON, which
    has no handle, so that only a metric that asks for its trace is told so.
    """
    if trace is None or isinstance(trace, CandidateEvidence):
        return trace
    if isinstance(trace, Trajectory):
        trace = trace.model_dump(mode="json")
    if isinstance(trace, dict) and isinstance(trace.get("descriptors"), dict):
        return CandidateEvidence.model_validate(trace)
    descriptor = EvidenceDescriptor(kind="trace", format=_format(trace), data=trace)
    return CandidateEvidence(descriptors={EVIDENCE_TRACE: descriptor})


def _format(trace: Any) -> str:
    if isinstance(trace, dict) and isinstance(trace.get("steps"), list):
        return EVIDENCE_FORMAT_ATIF
    first = trace[0] if isinstance(trace, list) and trace else trace
    if isinstance(first, dict) and _OTLP_KEYS & set(first):
        return EVIDENCE_FORMAT_OTLP
    return EVIDENCE_FORMAT_JSON


def steps_of(trace: Any) -> list[Any]:
    """Return the steps of a trace as a list: a list's own items, a trajectory's steps, else the trace as one step."""
    if trace is None:
        return []
    if isinstance(trace, Trajectory):
        return list(trace.steps)
    if isinstance(trace, dict) and isinstance(trace.get("steps"), list):
        return list(trace["steps"])
    return list(trace) if isinstance(trace, list | tuple) else [trace]
