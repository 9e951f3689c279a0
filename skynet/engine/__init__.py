"""What an engine sees of Skynet: the task, the doors, the models, the stops, and pure helpers for proposals.

An engine is a class registered under the entry-point group `skynet.engines`. It imports this module only. The host
keeps the books: whatever an engine put forward and had evaluated survives a stop at any moment.
"""

from skynet.artifact import Artifact, Content, Kind
from skynet.engine.protocol import (
    Engine,
    Evaluation,
    Failure,
    LabelledCase,
    LaneConverged,
    LaneStop,
    Message,
    ModelFailed,
    ModelReply,
    Models,
    Programs,
    Rejected,
    Rollout,
    RunStop,
    SearchBroken,
    SearchEvaluator,
    SearchTask,
    Status,
    TaskCase,
    Version,
    merge,
)
from skynet.engine.replies import Edit, apply_edits, extract_fence, extract_proposal, parse_edits

__all__ = [
    "Artifact",
    "Content",
    "Edit",
    "Engine",
    "Evaluation",
    "Failure",
    "Kind",
    "LabelledCase",
    "LaneConverged",
    "LaneStop",
    "Message",
    "ModelFailed",
    "ModelReply",
    "Models",
    "Programs",
    "Rejected",
    "Rollout",
    "RunStop",
    "SearchBroken",
    "SearchEvaluator",
    "SearchTask",
    "Status",
    "TaskCase",
    "Version",
    "apply_edits",
    "extract_fence",
    "extract_proposal",
    "merge",
    "parse_edits",
]
