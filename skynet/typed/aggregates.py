"""The rows of a summary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from skynet.errors import nearest
from skynet.summary.aggregate import aggregate, count_labels


class Percentiles(BaseModel):
    """The percentiles of a row; None where nothing was measured."""

    p10: float | None
    p20: float | None
    p30: float | None
    p40: float | None
    p50: float | None
    p60: float | None
    p70: float | None
    p80: float | None
    p90: float | None
    p100: float | None


class HistogramBin(BaseModel):
    """lower <= value < upper; the last bin includes its upper bound."""

    lower_bound: float
    upper_bound: float
    count: int


class Histogram(BaseModel):
    """Ten bins of equal width, one when all values are equal, none without a value."""

    bins: list[HistogramBin]


class LabelCount(BaseModel):
    """How often one label came."""

    label: str
    count: int


class AggregateScore(BaseModel):
    """One row. `count` opportunities were measured, `nan_count` were not: omitted, NaN, infinite, or failed."""

    model_config = ConfigDict(extra="forbid")

    name: str
    score_type: Literal["range", "label"]
    count: int
    nan_count: int
    sum: float | None = None
    mean: float | None = None
    min: float | None = None
    max: float | None = None
    median: float | None = None
    std_dev: float | None = None
    variance: float | None = None
    sample_std_dev: float | None = None
    sample_variance: float | None = None


class AggregateRangeScore(AggregateScore):
    """A row of numbers; std_dev and variance are the population's, the sample's are None for fewer than two."""

    score_type: Literal["range"] = "range"
    percentiles: Percentiles
    histogram: Histogram


class AggregateLabelScore(AggregateScore):
    """A row of labels: counted, most frequent first, never averaged."""

    score_type: Literal["label"] = "label"
    label_distribution: list[LabelCount]
    mode: str | None


class AggregatedMetricResult(BaseModel):
    """The rows of a summary in the order in which the tasks declare them."""

    model_config = ConfigDict(extra="forbid")

    scores: list[AggregateRangeScore | AggregateLabelScore] = Field(default_factory=list)

    def score(self, name: str) -> AggregateRangeScore | AggregateLabelScore:
        """Return the row of that name. Raises KeyError naming the rows there are."""
        for row in self.scores:
            if row.name == name:
                return row
        names = [row.name for row in self.scores]
        raise KeyError(f"the summary has no row {name!r}; it has: {', '.join(names) or 'none'}.{nearest(name, names)}")


def number_row(name: str, values: Sequence[float | None]) -> AggregateRangeScore:
    """Return the row of one value per opportunity; None, NaN and the infinities are not measured."""
    return AggregateRangeScore.model_validate({"name": name, **aggregate(values).to_json()})


def label_row(name: str, values: Sequence[str | None]) -> AggregateLabelScore:
    """Return the row of one label per opportunity; None is not measured."""
    counted = count_labels(values)
    return AggregateLabelScore(
        name=name,
        count=counted.count,
        nan_count=counted.nan_count,
        label_distribution=[LabelCount(label=label.label, count=label.count) for label in counted.labels],
        mode=counted.mode,
    )
