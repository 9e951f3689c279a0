"""Read handles over a recorded trace, one per encoding; the trace is read and parsed when it is first asked for."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, Literal

from pydantic import ValidationError

from skynet.typed.atif import FinalMetrics, Step, ToolCall, Trajectory
from skynet.typed.refs import EvidenceError, read_text

if TYPE_CHECKING:
    from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans


class ATIFTraceHandle:
    """A trace recorded as an ATIF trajectory."""

    format: Literal["atif"] = "atif"

    def __init__(self, data: Any, ref: str | None) -> None:
        self._data = data
        self._ref = ref
        self._trajectory: Trajectory | None = None

    async def trace(self) -> Trajectory:
        """Return the whole trajectory. Raises EvidenceError when it is no ATIF."""
        if self._trajectory is None:
            self._trajectory = await asyncio.to_thread(self._parse)
        return self._trajectory

    async def steps(self) -> list[Step]:
        """Return the steps in order."""
        return (await self.trace()).steps

    async def tool_calls(self) -> list[ToolCall]:
        """Return the tool calls of all steps, in order."""
        return (await self.trace()).tool_calls()

    async def token_usage(self) -> FinalMetrics:
        """Return the trajectory's totals, or the sums over its steps."""
        return (await self.trace()).usage()

    def _parse(self) -> Trajectory:
        data = self._data
        if data is None:
            text = read_text(self._ref or "", "ATIF trace")
            try:
                data = json.loads(text)
            except ValueError as error:
                raise EvidenceError(f"The ATIF trace at {self._ref!r} is not JSON: {error}") from error
        try:
            return Trajectory.model_validate(data)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(str(part) for part in first["loc"]) or "the top level"
            raise EvidenceError(f"The trace is no ATIF trajectory: at {place}: {first['msg']}") from None


class OTLPTraceHandle:
    """A trace recorded as OTLP. What counts as a tool call depends on its producer, so there is no `tool_calls()`."""

    format: Literal["otlp"] = "otlp"

    def __init__(self, data: Any, ref: str | None) -> None:
        self._data = data
        self._ref = ref
        self._spans: list[ResourceSpans] | None = None

    async def resource_spans(self) -> list[ResourceSpans]:
        """Return the span tree as opentelemetry-proto's messages.

        Raises EvidenceError when it is no OTLP, and MissingExtra when opentelemetry-proto is not installed.
        """
        if self._spans is None:
            self._spans = await asyncio.to_thread(self._parse)
        return self._spans

    def _parse(self) -> list[ResourceSpans]:
        from skynet.typed.otlp import parse_otlp, parse_otlp_text

        if self._data is not None:
            return parse_otlp(self._data)
        return parse_otlp_text(read_text(self._ref or "", "OTLP trace"))


TraceHandle = ATIFTraceHandle | OTLPTraceHandle
