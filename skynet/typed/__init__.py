"""The typed protocol of the evaluation documents, evidence and traces, and AgentEvaluator.

Every name is loaded when it is first used: a metric worker that only asks for a shape loads no models.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skynet.typed.adapter import as_score as as_score
    from skynet.typed.adapting import adapt as adapt
    from skynet.typed.aggregates import AggregatedMetricResult as AggregatedMetricResult
    from skynet.typed.aggregates import AggregateLabelScore as AggregateLabelScore
    from skynet.typed.aggregates import AggregateRangeScore as AggregateRangeScore
    from skynet.typed.aggregates import AggregateScore as AggregateScore
    from skynet.typed.aggregates import Histogram as Histogram
    from skynet.typed.aggregates import HistogramBin as HistogramBin
    from skynet.typed.aggregates import LabelCount as LabelCount
    from skynet.typed.aggregates import Percentiles as Percentiles
    from skynet.typed.atif import Agent as Agent
    from skynet.typed.atif import FinalMetrics as FinalMetrics
    from skynet.typed.atif import Metrics as Metrics
    from skynet.typed.atif import Observation as Observation
    from skynet.typed.atif import ObservationResult as ObservationResult
    from skynet.typed.atif import Step as Step
    from skynet.typed.atif import ToolCall as ToolCall
    from skynet.typed.atif import Trajectory as Trajectory
    from skynet.typed.detect import shape_of as shape_of
    from skynet.typed.evaluator import AgentEvalResult as AgentEvalResult
    from skynet.typed.evaluator import AgentEvaluator as AgentEvaluator
    from skynet.typed.evaluator import EvaluationError as EvaluationError
    from skynet.typed.evidence import EVIDENCE_FINAL_STATE as EVIDENCE_FINAL_STATE
    from skynet.typed.evidence import EVIDENCE_FORMAT_ATIF as EVIDENCE_FORMAT_ATIF
    from skynet.typed.evidence import EVIDENCE_FORMAT_JSON as EVIDENCE_FORMAT_JSON
    from skynet.typed.evidence import EVIDENCE_FORMAT_OTLP as EVIDENCE_FORMAT_OTLP
    from skynet.typed.evidence import EVIDENCE_FORMAT_TEXT as EVIDENCE_FORMAT_TEXT
    from skynet.typed.evidence import EVIDENCE_INITIAL_STATE as EVIDENCE_INITIAL_STATE
    from skynet.typed.evidence import EVIDENCE_LOGS as EVIDENCE_LOGS
    from skynet.typed.evidence import EVIDENCE_TRACE as EVIDENCE_TRACE
    from skynet.typed.evidence import CandidateEvidence as CandidateEvidence
    from skynet.typed.evidence import EvidenceDescriptor as EvidenceDescriptor
    from skynet.typed.filesystem import FilesystemDiff as FilesystemDiff
    from skynet.typed.filesystem import FilesystemEntry as FilesystemEntry
    from skynet.typed.filesystem import LocalFilesystemEvidence as LocalFilesystemEvidence
    from skynet.typed.otlp import MissingExtra as MissingExtra
    from skynet.typed.protocol import BooleanValue as BooleanValue
    from skynet.typed.protocol import CandidateOutput as CandidateOutput
    from skynet.typed.protocol import ContinuousScore as ContinuousScore
    from skynet.typed.protocol import DatasetRow as DatasetRow
    from skynet.typed.protocol import DiscreteScore as DiscreteScore
    from skynet.typed.protocol import Label as Label
    from skynet.typed.protocol import Metric as Metric
    from skynet.typed.protocol import MetricDiagnostic as MetricDiagnostic
    from skynet.typed.protocol import MetricInput as MetricInput
    from skynet.typed.protocol import MetricOutput as MetricOutput
    from skynet.typed.protocol import MetricOutputSpec as MetricOutputSpec
    from skynet.typed.protocol import MetricResult as MetricResult
    from skynet.typed.refs import EvidenceError as EvidenceError
    from skynet.typed.runner import AgentTaskRunner as AgentTaskRunner
    from skynet.typed.runner import CallableAgentTaskRunner as CallableAgentTaskRunner
    from skynet.typed.runner import TrialDraft as TrialDraft
    from skynet.typed.scores import AgentEvalDiagnostic as AgentEvalDiagnostic
    from skynet.typed.scores import AgentEvalDiagnosticSeverity as AgentEvalDiagnosticSeverity
    from skynet.typed.scores import AgentEvalScoreStatus as AgentEvalScoreStatus
    from skynet.typed.scores import AgentEvalTaskScore as AgentEvalTaskScore
    from skynet.typed.summary import AgentEvalMetricOutputCoverage as AgentEvalMetricOutputCoverage
    from skynet.typed.summary import AgentEvalSummary as AgentEvalSummary
    from skynet.typed.summary import TrialMetricValue as TrialMetricValue
    from skynet.typed.tasks import AgentEvalRunConfig as AgentEvalRunConfig
    from skynet.typed.tasks import AgentEvalTask as AgentEvalTask
    from skynet.typed.tasks import SemanticReducer as SemanticReducer
    from skynet.typed.tasks import SemanticView as SemanticView
    from skynet.typed.tasks import ViewSignal as ViewSignal
    from skynet.typed.toolkit import BaseEvaluator as BaseEvaluator
    from skynet.typed.toolkit import EvalInput as EvalInput
    from skynet.typed.toolkit import EvalInputItem as EvalInputItem
    from skynet.typed.toolkit import EvalOutput as EvalOutput
    from skynet.typed.toolkit import EvalOutputItem as EvalOutputItem
    from skynet.typed.traces import ATIFTraceHandle as ATIFTraceHandle
    from skynet.typed.traces import OTLPTraceHandle as OTLPTraceHandle
    from skynet.typed.traces import TraceHandle as TraceHandle
    from skynet.typed.trials import AgentEvalTrial as AgentEvalTrial
    from skynet.typed.trials import AgentEvalTrialStatus as AgentEvalTrialStatus
    from skynet.typed.trials import AgentOutput as AgentOutput
    from skynet.typed.trials import TrialError as TrialError
    from skynet.typed.trials import TrialMeasurements as TrialMeasurements
    from skynet.typed.validation import MetricError as MetricError
    from skynet.typed.validation import validate_metric_result as validate_metric_result

_NAMES = {
    "adapter": ("as_score",),
    "adapting": ("adapt",),
    "aggregates": (
        "AggregateLabelScore", "AggregateRangeScore", "AggregateScore", "AggregatedMetricResult", "Histogram",
        "HistogramBin", "LabelCount", "Percentiles",
    ),
    "atif": ("Agent", "FinalMetrics", "Metrics", "Observation", "ObservationResult", "Step", "ToolCall", "Trajectory"),
    "detect": ("shape_of",),
    "evaluator": ("AgentEvalResult", "AgentEvaluator", "EvaluationError"),
    "evidence": (
        "CandidateEvidence", "EVIDENCE_FINAL_STATE", "EVIDENCE_FORMAT_ATIF", "EVIDENCE_FORMAT_JSON",
        "EVIDENCE_FORMAT_OTLP", "EVIDENCE_FORMAT_TEXT", "EVIDENCE_INITIAL_STATE", "EVIDENCE_LOGS",
        "EVIDENCE_TRACE", "EvidenceDescriptor",
    ),
    "filesystem": ("FilesystemDiff", "FilesystemEntry", "LocalFilesystemEvidence"),
    "otlp": ("MissingExtra",),
    "protocol": (
        "BooleanValue", "CandidateOutput", "ContinuousScore", "DatasetRow", "DiscreteScore", "Label", "Metric",
        "MetricDiagnostic", "MetricInput", "MetricOutput", "MetricOutputSpec", "MetricResult",
    ),
    "refs": ("EvidenceError",),
    "runner": ("AgentTaskRunner", "CallableAgentTaskRunner", "TrialDraft"),
    "scores": ("AgentEvalDiagnostic", "AgentEvalDiagnosticSeverity", "AgentEvalScoreStatus", "AgentEvalTaskScore"),
    "summary": ("AgentEvalMetricOutputCoverage", "AgentEvalSummary", "TrialMetricValue"),
    "tasks": ("AgentEvalRunConfig", "AgentEvalTask", "SemanticReducer", "SemanticView", "ViewSignal"),
    "toolkit": ("BaseEvaluator", "EvalInput", "EvalInputItem", "EvalOutput", "EvalOutputItem"),
    "traces": ("ATIFTraceHandle", "OTLPTraceHandle", "TraceHandle"),
    "trials": ("AgentEvalTrial", "AgentEvalTrialStatus", "AgentOutput", "TrialError", "TrialMeasurements"),
    "validation": ("MetricError", "validate_metric_result"),
}  # fmt: skip
_HOMES = {name: f"skynet.typed.{module}" for module, names in _NAMES.items() for name in names}
__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        from skynet.errors import nearest

        raise AttributeError(f"skynet.typed has no {name!r}.{nearest(name, __all__)}")
    from importlib import import_module

    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
