"""The score records of a run: one per task, trial and metric."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from skynet.typed.protocol import MetricOutput
from skynet.typed.strict_json import LooseDict


class AgentEvalScoreStatus(StrEnum):
    """Whether the metric returned a valid result."""

    COMPLETED = "completed"
    FAILED = "failed"


class AgentEvalDiagnosticSeverity(StrEnum):
    """How grave a diagnostic is: `error` is why a score failed, `info` is the metric's own."""

    ERROR = "error"
    INFO = "info"


class AgentEvalDiagnostic(BaseModel):
    """What is to be known of one score."""

    model_config = ConfigDict(extra="forbid")

    severity: AgentEvalDiagnosticSeverity
    message: str
    source: str | None = None
    details: LooseDict = Field(default_factory=dict)


class AgentEvalTaskScore(BaseModel):
    """What one metric returned for one trial, its values in their declared types; or why it returned nothing."""

    model_config = ConfigDict(extra="forbid")

    id: str
    run_id: str
    task_id: str
    trial_id: str
    metric_type: str
    status: AgentEvalScoreStatus
    outputs: list[MetricOutput] = Field(default_factory=list)
    diagnostics: list[AgentEvalDiagnostic] = Field(default_factory=list)
