"""The typed metric protocol: what a metric declares, what it receives, what it returns.

A metric is any object with `type`, `output_spec()` and `async compute_scores(input)`; there is no base class.
"""

from __future__ import annotations

from typing import Literal, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict, Field, RootModel, field_validator

from skynet.typed.evidence import CandidateEvidence
from skynet.typed.strict_json import Loose, LooseDict

Kind = Literal["continuous", "discrete", "boolean", "label", "model"]
NUMERIC_KINDS: tuple[Kind, ...] = ("continuous", "discrete", "boolean")


class DatasetRow(BaseModel):
    """The task and the trial as plain data: keys task, inputs, reference and trial."""

    model_config = ConfigDict(extra="forbid")

    row_index: int | None = None
    data: LooseDict


class CandidateOutput(BaseModel):
    """The trial's output. `metadata` is the trial's, overlaid by the output's own."""

    model_config = ConfigDict(extra="forbid")

    output_text: str | None = None
    response: Loose = None
    trajectory: Loose = None
    evidence: CandidateEvidence | None = None
    metadata: LooseDict = Field(default_factory=dict)


class MetricInput(BaseModel):
    """What `compute_scores` receives."""

    model_config = ConfigDict(extra="forbid")

    row: DatasetRow
    candidate: CandidateOutput


class ContinuousScore(RootModel[float]):
    """A number. NaN and the infinities are accepted and count as not measured in a mean."""


class DiscreteScore(RootModel[int]):
    """A whole number."""


class BooleanValue(RootModel[bool]):
    """Yes or no; averaged as 1 and 0."""


class Label(RootModel[str]):
    """A text that is counted, not averaged."""


_KIND_OF: dict[type[BaseModel], Kind] = {
    ContinuousScore: "continuous",
    DiscreteScore: "discrete",
    BooleanValue: "boolean",
    Label: "label",
}


class MetricOutputSpec(BaseModel):
    """One named output that a metric declares. A required one must be in every result."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    description: str | None = None
    value_schema: type[BaseModel]
    required: bool = True

    @field_validator("name")
    @classmethod
    def _is_not_blank(cls, name: str) -> str:
        if not name.strip():
            raise ValueError("the name of an output must not be blank")
        return name

    @property
    def kind(self) -> Kind:
        """How the values are summed up; `model` (any other pydantic model) is kept and never averaged."""
        return next((kind for schema, kind in _KIND_OF.items() if issubclass(self.value_schema, schema)), "model")

    @classmethod
    def continuous_score(cls, name: str, description: str | None = None, *, required: bool = True) -> MetricOutputSpec:
        """Declare a number."""
        return cls(name=name, description=description, value_schema=ContinuousScore, required=required)

    @classmethod
    def discrete_score(cls, name: str, description: str | None = None, *, required: bool = True) -> MetricOutputSpec:
        """Declare a whole number."""
        return cls(name=name, description=description, value_schema=DiscreteScore, required=required)

    @classmethod
    def boolean(cls, name: str, description: str | None = None, *, required: bool = True) -> MetricOutputSpec:
        """Declare a yes or no."""
        return cls(name=name, description=description, value_schema=BooleanValue, required=required)

    @classmethod
    def label(cls, name: str, description: str | None = None, *, required: bool = True) -> MetricOutputSpec:
        """Declare a text to be counted."""
        return cls(name=name, description=description, value_schema=Label, required=required)

    @classmethod
    def model(
        cls, name: str, value_schema: type[BaseModel], description: str | None = None, *, required: bool = True
    ) -> MetricOutputSpec:
        """Declare a value of a pydantic model; it is kept beside the scores and never averaged."""
        return cls(name=name, description=description, value_schema=value_schema, required=required)


class MetricOutput(BaseModel):
    """One named value of a result."""

    model_config = ConfigDict(extra="forbid")

    name: str
    value: Loose


class MetricDiagnostic(BaseModel):
    """One finding behind a result. In a run the messages become the feedback."""

    model_config = ConfigDict(extra="forbid")

    message: str
    details: LooseDict | None = None


class MetricResult(BaseModel):
    """What `compute_scores` returns."""

    model_config = ConfigDict(extra="forbid")

    outputs: list[MetricOutput]
    diagnostics: list[MetricDiagnostic] = Field(default_factory=list)


@runtime_checkable
class Metric(Protocol):
    """Any object that scores one trial."""

    @property
    def type(self) -> str:
        """The metric's name, unique within a task and the prefix of its summary rows."""

    def output_spec(self) -> list[MetricOutputSpec]:
        """Return the outputs that the metric emits."""

    async def compute_scores(self, input: MetricInput) -> MetricResult:
        """Score one trial."""


def output_row(metric: str, output: str) -> str:
    """Return the name under which an output stands in a summary."""
    return f"{metric}.{output}"
