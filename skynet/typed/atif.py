"""The parts of an ATIF trajectory that metrics read. Fields that are not modelled here are ignored."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, field_validator

from skynet.typed.strict_json import Loose, LooseDict

Number = TypeVar("Number", int, float)


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)


class ToolCall(_Part):
    """One call of a tool that a step made."""

    tool_call_id: str | None = None
    function_name: str
    arguments: LooseDict | None = None
    extra: LooseDict | None = None


class ObservationResult(_Part):
    """What one tool call gave back."""

    source_call_id: str | None = None
    content: Loose = None
    extra: LooseDict | None = None


class Observation(_Part):
    """What the environment answered to a step."""

    results: list[ObservationResult] = Field(default_factory=list)


class Metrics(_Part):
    """Tokens and dollars of one step."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None
    extra: LooseDict | None = None


class FinalMetrics(_Part):
    """Tokens and dollars of a whole trajectory; None where nothing reported them."""

    total_prompt_tokens: int | None = None
    total_completion_tokens: int | None = None
    total_cached_tokens: int | None = None
    total_cost_usd: float | None = None
    total_steps: int | None = Field(default=None, ge=0)
    extra: LooseDict | None = None


class Agent(_Part):
    """The agent that produced the trajectory."""

    name: str | None = None
    version: str | None = None
    model_name: str | None = None
    extra: LooseDict | None = None


class Step(_Part):
    """One turn of the system, the user or the agent. `message` is a text, or a list of content parts."""

    step_id: int | None = Field(default=None, ge=1)
    timestamp: str | None = None
    source: Literal["system", "user", "agent"]
    model_name: str | None = None
    message: str | list[dict[str, Any]] = ""
    reasoning_content: str | None = None
    tool_calls: list[ToolCall] | None = None
    observation: Observation | None = None
    metrics: Metrics | None = None
    extra: LooseDict | None = None


class Trajectory(_Part):
    """A recorded run of an agent."""

    schema_version: str
    session_id: str | None = None
    agent: Agent | None = None
    steps: list[Step] = Field(min_length=1)
    notes: str | None = None
    final_metrics: FinalMetrics | None = None
    extra: LooseDict | None = None

    @field_validator("schema_version")
    @classmethod
    def _is_atif(cls, version: str) -> str:
        if not version.startswith("ATIF-"):
            raise ValueError(f"{version!r} is no ATIF version; it starts with ATIF-, such as ATIF-v1.7")
        return version

    def tool_calls(self) -> list[ToolCall]:
        """Return the calls of all steps, in order."""
        return [call for step in self.steps for call in step.tool_calls or []]

    def usage(self) -> FinalMetrics:
        """Return the reported totals, or the sums over the steps that report any."""
        if self.final_metrics is not None:
            return self.final_metrics
        steps = [step.metrics for step in self.steps if step.metrics is not None]
        return FinalMetrics(
            total_prompt_tokens=_sum_of(step.prompt_tokens for step in steps),
            total_completion_tokens=_sum_of(step.completion_tokens for step in steps),
            total_cached_tokens=_sum_of(step.cached_tokens for step in steps),
            total_cost_usd=_sum_of(step.cost_usd for step in steps),
            total_steps=len(self.steps),
        )


def _sum_of(values: Iterable[Number | None]) -> Number | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
