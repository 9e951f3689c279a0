"""`skynet.toml` as checked, frozen models."""

from __future__ import annotations

from skynet.spec.faults import Fault, SpecError
from skynet.spec.jobs import EvalMetricSpec, EvalSpec
from skynet.spec.load import SPEC_NAME, load_spec, parse_spec
from skynet.spec.models import (
    ArtifactSpec,
    BudgetSpec,
    EngineSpec,
    EvaluationSpec,
    LimitsSpec,
    MetricSpec,
    ModelSpec,
    ModelsSpec,
    PriceSpec,
    Spec,
    TargetSpec,
)
from skynet.spec.rows import ColumnSplit, CountSplit, DataSpec, FractionSplit, PathSplit

__all__ = [
    "SPEC_NAME",
    "ArtifactSpec",
    "BudgetSpec",
    "ColumnSplit",
    "CountSplit",
    "DataSpec",
    "EngineSpec",
    "EvalMetricSpec",
    "EvalSpec",
    "EvaluationSpec",
    "Fault",
    "FractionSplit",
    "LimitsSpec",
    "MetricSpec",
    "ModelSpec",
    "ModelsSpec",
    "PathSplit",
    "PriceSpec",
    "Spec",
    "SpecError",
    "TargetSpec",
    "load_spec",
    "parse_spec",
]
