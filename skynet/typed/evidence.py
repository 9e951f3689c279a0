"""The evidence of a trial: named descriptors, and the handles that read them."""

from __future__ import annotations

from typing import Any, Literal, overload

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, model_validator

from skynet.typed.filesystem import LocalFilesystemEvidence
from skynet.typed.refs import EvidenceError, local_path
from skynet.typed.strict_json import Loose, LooseDict
from skynet.typed.traces import ATIFTraceHandle, OTLPTraceHandle, TraceHandle

EVIDENCE_TRACE = "trace"
EVIDENCE_LOGS = "logs"
EVIDENCE_INITIAL_STATE = "initial_state"
EVIDENCE_FINAL_STATE = "final_state"

EVIDENCE_FORMAT_ATIF = "atif"
EVIDENCE_FORMAT_OTLP = "otlp"
EVIDENCE_FORMAT_JSON = "json"
EVIDENCE_FORMAT_TEXT = "text"

_HANDLES: dict[str, type[ATIFTraceHandle] | type[OTLPTraceHandle]] = {
    EVIDENCE_FORMAT_OTLP: OTLPTraceHandle,  # first: where both were recorded, it is the primary view
    EVIDENCE_FORMAT_ATIF: ATIFTraceHandle,
}


class EvidenceDescriptor(BaseModel):
    """One piece of evidence, inline (`data`) or as a local path (`ref`). A trace without a format is ATIF."""

    model_config = ConfigDict(extra="forbid")

    kind: str
    ref: str | None = None
    format: str | None = None
    data: Loose = None
    description: str | None = None
    metadata: LooseDict = Field(default_factory=dict)

    @model_validator(mode="after")
    def _has_content(self) -> EvidenceDescriptor:
        if self.ref is None and self.data is None:
            raise ValueError("an evidence descriptor needs data or ref")
        return self

    @property
    def trace_format(self) -> str:
        """The encoding of a trace."""
        return self.format or EVIDENCE_FORMAT_ATIF


class CandidateEvidence(BaseModel):
    """The named evidence of one trial. A trace in a second encoding stands under `name:format`."""

    model_config = ConfigDict(extra="forbid")

    descriptors: dict[str, EvidenceDescriptor] = Field(default_factory=dict)
    metadata: LooseDict = Field(default_factory=dict)
    _handles: dict[str, Any] = PrivateAttr(default_factory=dict)

    def names(self, *, kind: str | None = None) -> list[str]:
        """Return the names, of one kind when given."""
        return [name for name, found in self.descriptors.items() if kind is None or found.kind == kind]

    def get(self, name: str) -> EvidenceDescriptor | None:
        """Return the descriptor of that name, or None."""
        return self.descriptors.get(name)

    def require(self, name: str, *, kind: str | None = None) -> EvidenceDescriptor:
        """Return the descriptor of that name. Raises KeyError when absent, EvidenceError when of another kind."""
        descriptor = self.get(name)
        if descriptor is None:
            raise KeyError(f"the trial has no evidence {name!r}; it has {self.names() or 'none'}")
        if kind is not None and descriptor.kind != kind:
            raise EvidenceError(f"Evidence {name!r} is of kind {descriptor.kind!r}, not {kind!r}.")
        return descriptor

    @overload
    async def trace(self, name: str = ..., *, format: None = ...) -> TraceHandle: ...

    @overload
    async def trace(self, name: str = ..., *, format: Literal["atif"]) -> ATIFTraceHandle: ...

    @overload
    async def trace(self, name: str = ..., *, format: Literal["otlp"]) -> OTLPTraceHandle: ...

    @overload
    async def trace(self, name: str = ..., *, format: str) -> TraceHandle: ...

    async def trace(self, name: str = EVIDENCE_TRACE, *, format: str | None = None) -> TraceHandle:
        """Return the handle of a trace in that format; without one OTLP when it was recorded, else ATIF.

        Raises KeyError when the trial has no such trace, EvidenceError for an encoding that has no handle.
        """
        key = self._trace_key(name, format)
        if key not in self._handles:
            descriptor = self.require(key, kind=EVIDENCE_TRACE)
            handle = _HANDLES.get(descriptor.trace_format)
            if handle is None:
                known = " or ".join(_HANDLES)
                raise EvidenceError(f"Trace {key!r} is in the format {descriptor.trace_format!r}, not {known}.")
            self._handles[key] = handle(descriptor.data, descriptor.ref)
        found: TraceHandle = self._handles[key]
        return found

    async def filesystem(self, name: str = EVIDENCE_FINAL_STATE) -> LocalFilesystemEvidence:
        """Return a handle over a recorded folder. Raises KeyError when absent, EvidenceError when it has no folder."""
        return self._folder(name, kind="filesystem")

    async def logs(self, name: str = EVIDENCE_LOGS) -> LocalFilesystemEvidence:
        """Return a handle over a folder of logs. Raises KeyError when absent, EvidenceError when it has no folder."""
        return self._folder(name, kind="logs")

    def _folder(self, name: str, kind: str) -> LocalFilesystemEvidence:
        descriptor = self.require(name, kind=kind)
        if descriptor.ref is None:
            raise EvidenceError(f"Evidence {name!r} has no ref: a folder is given by its path.")
        return LocalFilesystemEvidence(local_path(descriptor.ref))

    def _trace_key(self, name: str, format: str | None) -> str:
        """Return the key of the trace by its declared format; what the key's ending says does not count."""
        wanted = list(_HANDLES) if format is None else [format]
        for encoding in wanted:
            for key in (name, f"{name}:{encoding}"):
                descriptor = self.get(key)
                if descriptor is not None and descriptor.trace_format == encoding:
                    return key
        if format is None and name in self.descriptors:
            return name  # an encoding that has no handle, which the caller is told
        suffix = "" if format is None else f" in the format {format!r}"
        raise KeyError(f"the trial has no trace {name!r}{suffix}; it has {self.names() or 'no evidence'}")
