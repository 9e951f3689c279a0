"""Trials: what an agent did with a task."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from skynet.typed.evidence import CandidateEvidence
from skynet.typed.strict_json import Loose, LooseDict


class AgentEvalTrialStatus(StrEnum):
    """Whether the trial ended. A failed one is not scored; a partial one is."""

    COMPLETED = "completed"
    PARTIAL = "partial"
    FAILED = "failed"


class AgentOutput(BaseModel):
    """The agent's final output."""

    model_config = ConfigDict(extra="forbid")

    output_text: str | None = None
    response: Loose = None
    metadata: LooseDict = Field(default_factory=dict)


class TrialError(BaseModel):
    """Why a trial failed: the class of the error, and its words."""

    model_config = ConfigDict(extra="forbid")

    type: str = Field(min_length=1)
    message: str | None = None


def _a_number(value: Any) -> Any:
    if isinstance(value, bool | str):
        raise ValueError(f"a measurement is a number, not {value!r}")
    return value


_Tokens = Annotated[int, BeforeValidator(_a_number), Field(ge=0)]
_Amount = Annotated[float, BeforeValidator(_a_number), Field(ge=0, allow_inf_nan=False)]
_Reward = Annotated[float, BeforeValidator(_a_number), Field(allow_inf_nan=False)]


class TrialMeasurements(BaseModel):
    """What was measured of a trial; None where nothing was, and a measured zero is 0.

    `total_tokens` is filled in from the two parts when both are known. `runtime_sec` is in seconds.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    prompt_tokens: _Tokens | None = None
    completion_tokens: _Tokens | None = None
    total_tokens: _Tokens | None = None
    cache_creation_tokens: _Tokens | None = None
    cache_read_tokens: _Tokens | None = None
    runtime_sec: _Amount | None = None
    cost_usd: _Amount | None = None
    reward: _Reward | None = None
    passed: bool | None = Field(default=None, strict=True)

    @model_validator(mode="before")
    @classmethod
    def _with_total(cls, given: Any) -> Any:
        if not isinstance(given, dict) or given.get("total_tokens") is not None:
            return given
        parts = [given.get("prompt_tokens"), given.get("completion_tokens")]
        if not all(isinstance(part, int) and not isinstance(part, bool) for part in parts):
            return given
        return {**given, "total_tokens": sum(parts)}


class AgentEvalTrial(BaseModel):
    """One trial of one task. A completed one has an output; `metadata` never becomes a measurement."""

    model_config = ConfigDict(extra="forbid")

    id: str = Field(min_length=1)
    task_id: str = Field(min_length=1)
    status: AgentEvalTrialStatus
    output: AgentOutput | None = None
    evidence: CandidateEvidence | None = None
    error: TrialError | None = None
    measurements: TrialMeasurements = Field(default_factory=TrialMeasurements)
    metadata: LooseDict = Field(default_factory=dict)

    @model_validator(mode="after")
    def _completed_has_output(self) -> AgentEvalTrial:
        if self.status is AgentEvalTrialStatus.COMPLETED and self.output is None:
            raise ValueError(f"trial {self.id!r} is completed but has no output")
        return self

    @property
    def failed(self) -> bool:
        """Whether the trial failed, so that no metric scores it."""
        return self.status is AgentEvalTrialStatus.FAILED
