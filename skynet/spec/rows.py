"""The `[data]` section: where the rows are, which columns count, how they are split."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any

from pydantic import BeforeValidator, Discriminator, Field, Tag, field_validator, model_validator

from skynet.spec.fields import Names, PathText, Section

_SPLIT_FORMS = (
    "fractions such as { train = 0.6, val = 0.2, test = 0.2 }, counts such as { train = 60, val = 20, test = 20 }, "
    '{ column = "split" }, or paths such as { train = "train.csv", test = "test.csv" }'
)


def _exact(value: Any) -> Any:
    """A float stands for the decimal that its shortest text shows: 0.1 is one tenth."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    return Decimal(str(value))


Fraction = Annotated[
    Decimal, BeforeValidator(_exact), Field(ge=0, le=1, allow_inf_nan=False, description="a fraction from 0 to 1")
]
Count = Annotated[int, Field(ge=0, description="a number of rows, 0 or more")]


class FractionSplit(Section):
    """Exact decimals that add up to 1. A part left out is 0, which means that it was not asked for."""

    train: Fraction
    val: Fraction = Decimal(0)
    test: Fraction = Decimal(0)

    @model_validator(mode="after")
    def _adds_up(self) -> FractionSplit:
        total = self.train + self.val + self.test
        if total != 1:
            raise ValueError(f"fractions must add up to exactly 1, these add up to {total.normalize():f}")
        if self.train == 0:
            raise ValueError("train must be above 0: the search learns from its cases")
        return self


class CountSplit(Section):
    """Numbers of rows. A part left out is 0; rows beyond the sum are in no split."""

    train: Annotated[int, Field(ge=1, description="a number of rows, 1 or more: the search learns from train")]
    val: Count = 0
    test: Count = 0


class ColumnSplit(Section):
    """The column whose cells say train, val or test."""

    column: str = Field(description="the name of a column that says train, val or test")


class PathSplit(Section):
    """One file per split, relative to the spec's folder."""

    train: PathText = Field(description="the path of a data file")
    val: PathText | None = Field(default=None, description="the path of a data file")
    test: PathText | None = Field(default=None, description="the path of a data file")


def _form(value: Any) -> str:
    """Name the form of a split by its values; the angle brackets keep the name out of error messages."""
    if isinstance(value, Section):
        return f"<{type(value).__name__}>"
    if "column" in value:
        return "<ColumnSplit>"
    if any(isinstance(part, str) for part in value.values()):
        return "<PathSplit>"
    return "<FractionSplit>" if any(isinstance(part, float | Decimal) for part in value.values()) else "<CountSplit>"


Split = Annotated[
    Annotated[FractionSplit, Tag("<FractionSplit>")]
    | Annotated[CountSplit, Tag("<CountSplit>")]
    | Annotated[ColumnSplit, Tag("<ColumnSplit>")]
    | Annotated[PathSplit, Tag("<PathSplit>")],
    Discriminator(_form),
]


class DataSpec(Section):
    """Rows and their meaning. `path` is None exactly when `split` names one file per split."""

    path: PathText | None = Field(
        default=None, description='the path of data: "rows.csv", "folder", or "folder#*.parquet"'
    )
    inputs: Names = Field(min_length=1, description='an array of column names, such as ["message"]')
    outputs: Names = Field(default=(), description='an array of column names, such as ["label"]')
    split: Split = Field(
        default=FractionSplit(train=Decimal("0.6"), val=Decimal("0.2"), test=Decimal("0.2")), description=_SPLIT_FORMS
    )
    seed: int = Field(default=0, description="a whole number; 0 is a seed like any other")
    id: str | None = Field(default=None, description="the name of a column whose values are all different")
    group: str | None = Field(default=None, description="the name of a column; rows of one value stay together")
    stratify: str | None = Field(default=None, description="the name of a column; its values are spread evenly")
    skip_bad_rows: int = Field(default=0, ge=0, description="a whole number, 0 or more: bad rows that may be left out")

    @field_validator("split", mode="before")
    @classmethod
    def _one_form(cls, value: Any) -> Any:
        if isinstance(value, Section):
            return value
        if not isinstance(value, dict) or not value:
            raise ValueError(f"a split is {_SPLIT_FORMS}")
        if "column" in value and len(value) > 1:
            raise ValueError("column stands alone: the column's cells already say train, val or test")
        texts = sum(isinstance(part, str) for part in value.values())
        if "column" not in value and 0 < texts < len(value):
            raise ValueError("a split is all paths or all numbers, not a mixture")
        return value
