"""The `[eval]` section: an evaluation job, its rows, its outputs and its metrics."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from skynet.spec.fields import Section, array, gathered_options

METRIC = "metric"  # the type of a metric that is a file of the user's
NOT_NEEDED = ("artifact.path", "metric.path")  # what a job may do without: the artifact and the metric of a run
_NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]*$"  # it becomes part of a file's name


class EvalMetricSpec(Section):
    """One metric of a job. `options` holds every other key of the table, for the scorer to check.

    `only` names the rows that it is for: those whose columns hold these values.
    """

    type: str = Field(min_length=1, description="metric (a file of yours), a name in metrics, judge, or a scorer")
    only: dict[str, Any] = Field(default_factory=dict, description='a table of column and value: { task = "sum" }')
    options: dict[str, Any] = Field(default_factory=dict, description="a table of the metric's options")

    @model_validator(mode="before")
    @classmethod
    def _gather_options(cls, value: Any) -> Any:
        return gathered_options(cls, value)


_MetricName = Annotated[str, Field(pattern=_NAME, description="letters, digits, _ . and -")]
_Rows = Annotated[tuple[dict[str, Any], ...], BeforeValidator(array)]


class EvalSpec(Section):
    """An evaluation job.

    Rows are `rows` where given, else those of [data]. Outputs are stored in the column `output`, or the task model's
    replies to `prompt`, or the target's.
    """

    rows: _Rows | None = Field(default=None, min_length=1, description="an array of tables, one for each row")
    output: str | None = Field(default=None, min_length=1, description="the name of the column with stored outputs")
    prompt: str | None = Field(default=None, min_length=1, description="a template: 'Translate: {{ item.text }}'")
    split: Literal["all", "train", "val", "test"] = Field(default="all", description="all, train, val or test")
    metrics: dict[_MetricName, EvalMetricSpec] = Field(
        min_length=1, description="tables such as [eval.metrics.exact] with type = 'exact_match'"
    )
