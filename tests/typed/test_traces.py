from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from skynet.typed import (
    ATIFTraceHandle,
    CandidateEvidence,
    EvidenceDescriptor,
    EvidenceError,
    MissingExtra,
    OTLPTraceHandle,
)
from tests.typed.conftest import run

TRACE_ID, SPAN_ID = "5b8efff798038103d269b633813fc60c", "eee19b7ec3c1b174"
ATIF = {
    "schema_version": "ATIF-v1.7",
    "unknown": 1,
    "steps": [
        {"source": "user", "message": "hi"},
        {
            "source": "agent",
            "tool_calls": [{"function_name": "search", "arguments": {"q": "x"}}, {"function_name": "read"}],
            "metrics": {"prompt_tokens": 10, "completion_tokens": 0},
        },
        {"source": "agent", "tool_calls": [{"function_name": "answer"}], "metrics": {"prompt_tokens": 5}},
    ],
}
SPAN = {"traceId": TRACE_ID, "spanId": SPAN_ID, "name": "call", "kind": 1, "someNewField": 1}
OTLP = {"resourceSpans": [{"scopeSpans": [{"spans": [SPAN]}]}]}


def descriptor(data: Any, format: str | None = "atif", **fields: Any) -> EvidenceDescriptor:
    return EvidenceDescriptor(kind="trace", format=format, data=data, **fields)


def evidence(**named: EvidenceDescriptor) -> CandidateEvidence:
    return CandidateEvidence(descriptors={name.replace("__", ":"): found for name, found in named.items()})


def test_an_atif_handle_reads_calls_in_order_steps_and_summed_usage() -> None:
    handle = run(evidence(trace=descriptor(ATIF)).trace(format="atif"))
    assert [call.function_name for call in run(handle.tool_calls())] == ["search", "read", "answer"]
    assert [step.source for step in run(handle.steps())] == ["user", "agent", "agent"]
    usage = run(handle.token_usage())
    assert (usage.total_prompt_tokens, usage.total_completion_tokens, usage.total_cost_usd) == (15, 0, None)


def test_reported_totals_win_over_the_sums_of_the_steps() -> None:
    reported = {**ATIF, "final_metrics": {"total_prompt_tokens": 99}}
    handle = run(evidence(trace=descriptor(reported)).trace(format="atif"))
    assert run(handle.token_usage()).total_prompt_tokens == 99


def test_a_trace_without_a_format_is_atif() -> None:
    assert run(evidence(trace=descriptor(ATIF, format=None)).trace()).format == "atif"


@pytest.mark.parametrize(
    ("recorded", "asked", "given"),
    [
        ({"trace": "atif"}, None, "atif"),
        ({"trace": "otlp"}, None, "otlp"),
        ({"trace": "atif", "trace__otlp": "otlp"}, None, "otlp"),
        ({"trace": "otlp", "trace__atif": "atif"}, None, "otlp"),
        ({"trace__atif": "atif"}, None, "atif"),
        ({"trace": "otlp", "trace__atif": "atif"}, "atif", "atif"),
        ({"trace": "atif", "trace__otlp": "otlp"}, "otlp", "otlp"),
    ],
)
def test_without_a_format_otlp_is_given_when_it_was_recorded(
    recorded: dict[str, str], asked: str | None, given: str
) -> None:
    found = evidence(**{name: descriptor(ATIF if form == "atif" else OTLP, form) for name, form in recorded.items()})
    assert run(found.trace(format=asked)).format == given


@pytest.mark.parametrize("format", [None, "atif", "otlp"])
def test_a_trial_without_a_trace_raises_key_error(format: str | None) -> None:
    with pytest.raises(KeyError, match="no trace 'trace'"):
        run(CandidateEvidence().trace(format=format))


def test_a_format_that_was_not_recorded_raises_key_error_whatever_the_name_says() -> None:
    found = evidence(trace=descriptor(ATIF), trace__otlp=descriptor(ATIF))
    with pytest.raises(KeyError, match="otlp"):
        run(found.trace(format="otlp"))


def test_an_encoding_without_a_handle_is_told() -> None:
    with pytest.raises(EvidenceError, match="'json'"):
        run(evidence(trace=descriptor({}, "json")).trace())


def test_evidence_of_another_kind_is_no_trace() -> None:
    logs = EvidenceDescriptor(kind="logs", ref="x")
    with pytest.raises(EvidenceError, match="'logs'"):
        run(evidence(trace=logs).trace())


def test_a_trace_is_read_from_a_file_by_path_or_address(tmp_path: Path) -> None:
    path = tmp_path / "a trace.json"
    path.write_text(json.dumps(ATIF))
    for ref in (str(path), path.as_uri()):
        found = evidence(trace=EvidenceDescriptor(kind="trace", ref=ref))
        assert len(run(run(found.trace(format="atif")).tool_calls())) == 3


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({"schema_version": "1.0", "steps": [{"source": "user"}]}, "ATIF-v1.7"),
        ({"schema_version": "ATIF-v1.7", "steps": []}, "at steps"),
        ({"schema_version": "ATIF-v1.7", "steps": [{"source": "robot"}]}, "at steps.0.source"),
        ([], "no ATIF trajectory"),
    ],
)
def test_what_is_no_atif_is_told_where(data: Any, says: str) -> None:
    with pytest.raises(EvidenceError, match=says):
        run(ATIFTraceHandle(data, None).trace())


@pytest.mark.parametrize("ref", ["https://host/trace.json", "s3://bucket/trace", "file://otherhost/trace"])
def test_a_trace_that_is_not_on_this_machine_cannot_be_read(ref: str) -> None:
    with pytest.raises(EvidenceError, match="local path"):
        run(ATIFTraceHandle(None, ref).trace())


def test_a_trace_file_that_is_missing_is_told(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match="cannot be read"):
        run(OTLPTraceHandle(None, str(tmp_path / "none.json")).resource_spans())


@pytest.mark.parametrize("data", [OTLP, OTLP["resourceSpans"], {"resource_spans": OTLP["resourceSpans"]}])
def test_otlp_spans_are_opentelemetrys_messages_with_their_ids(data: Any) -> None:
    [resource] = run(OTLPTraceHandle(data, None).resource_spans())
    span = resource.scope_spans[0].spans[0]
    assert (span.trace_id.hex(), span.span_id.hex(), span.name) == (TRACE_ID, SPAN_ID, "call")


def test_ids_in_base64_are_read_too() -> None:
    span = {"traceId": "W47/95gDgQPSabYzgT/GDA==", "spanId": "7uGbfsPBsXQ="}
    data = {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}
    [resource] = run(OTLPTraceHandle(data, None).resource_spans())
    assert resource.scope_spans[0].spans[0].trace_id.hex() == TRACE_ID


def test_an_otlp_file_of_json_lines_is_one_trace(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text(f"{json.dumps(OTLP)}\n\n{json.dumps(OTLP)}\n")
    assert len(run(OTLPTraceHandle(None, str(path)).resource_spans())) == 2


def test_a_broken_line_of_an_otlp_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text(f"{json.dumps(OTLP)}\n{{\n")
    with pytest.raises(EvidenceError, match="Line 2"):
        run(OTLPTraceHandle(None, str(path)).resource_spans())


@pytest.mark.parametrize("data", [{}, "x", {"resourceSpans": 1}, ["x"], {"resourceSpans": [{"scopeSpans": 1}]}])
def test_what_is_no_otlp_is_told(data: Any) -> None:
    with pytest.raises(EvidenceError, match="no OTLP"):
        run(OTLPTraceHandle(data, None).resource_spans())


def test_without_the_extra_reading_otlp_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("opentelemetry.proto.trace.v1.trace_pb2", "opentelemetry.proto.trace.v1"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtra, match=r"pip install 'skynet-optimizer\[trace\]'"):
        run(OTLPTraceHandle(OTLP, None).resource_spans())
