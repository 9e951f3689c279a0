"""OTLP in its JSON form, parsed into opentelemetry-proto's messages."""

from __future__ import annotations

import base64
import json
import re
from typing import TYPE_CHECKING, Any

from skynet.errors import SkynetError
from skynet.typed.refs import EvidenceError

if TYPE_CHECKING:
    from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans

_IDS = {"traceId": 32, "trace_id": 32, "spanId": 16, "span_id": 16, "parentSpanId": 16, "parent_span_id": 16}
_HEX = re.compile(r"[0-9a-fA-F]*")
_ENVELOPES = ("resourceSpans", "resource_spans")
_RIGHT = 'It must be an object with "resourceSpans", or a list of such spans.'


class MissingExtra(SkynetError, ImportError):
    """A part of Skynet that is installed on request is needed and not there."""


def parse_otlp(payload: Any) -> list[ResourceSpans]:
    """Return the spans of an export request, or of a list of resource spans. Raises EvidenceError, MissingExtra."""
    return [_message(item) for item in _resource_spans(payload)]


def parse_otlp_text(text: str) -> list[ResourceSpans]:
    """Return the spans of one JSON document, or of JSON lines. Raises EvidenceError, MissingExtra."""
    try:
        return parse_otlp(json.loads(text))
    except ValueError as error:
        if isinstance(error, EvidenceError):
            raise
    found: list[ResourceSpans] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            payload = json.loads(line)
        except ValueError as error:
            raise EvidenceError(f"Line {number} of the OTLP trace is not JSON: {error}") from error
        found += parse_otlp(payload)
    return found


def _resource_spans(payload: Any) -> list[Any]:
    if isinstance(payload, list):
        return payload
    if isinstance(payload, dict):
        for key in _ENVELOPES:
            if isinstance(payload.get(key), list):
                return list(payload[key])
    raise EvidenceError(f"The trace is no OTLP: it is a {type(payload).__name__}. {_RIGHT}")


def _message(item: Any) -> ResourceSpans:
    try:
        from opentelemetry.proto.trace.v1 import trace_pb2
    except ModuleNotFoundError as error:
        message = "Reading an OTLP trace needs opentelemetry-proto. Install it: pip install 'skynet-optimizer[trace]'"
        raise MissingExtra(message) from error
    from google.protobuf import json_format

    if isinstance(item, trace_pb2.ResourceSpans):
        return item
    if not isinstance(item, dict):
        raise EvidenceError(f"The trace is no OTLP: among its resource spans is a {type(item).__name__}. {_RIGHT}")
    parsed = trace_pb2.ResourceSpans()
    try:
        json_format.ParseDict(_with_base64_ids(item), parsed, ignore_unknown_fields=True)
    except json_format.ParseError as error:
        raise EvidenceError(f"The trace is no OTLP: {error}. {_RIGHT}") from error
    return parsed


def _with_base64_ids(value: Any) -> Any:
    """Return a copy in which ids written in hex, as OTLP writes them, are base64, as protobuf's JSON reads them."""
    if isinstance(value, list):
        return [_with_base64_ids(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: _id(key, item) if key in _IDS else _with_base64_ids(item) for key, item in value.items()}


def _id(key: str, value: Any) -> Any:
    if isinstance(value, str) and len(value) == _IDS[key] and _HEX.fullmatch(value):
        return base64.b64encode(bytes.fromhex(value)).decode()
    return value
