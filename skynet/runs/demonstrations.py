"""What in a version is a demonstration, an example of input and output, and what are instructions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from skynet.artifact import Artifact
from skynet.runs.report.show import shown
from skynet.target.prompt import Turn, split_turns

_DEMOS = "demos"  # where the state of a DSPy predictor keeps them


def demonstrations(artifact: Artifact) -> list[str]:
    """Return the demonstrations: of a chat text each user turn with its answer, of a DSPy program each demo."""
    if artifact.kind == "text":
        return [f"{one.text} -> {two.text}" for one, two in _pairs(split_turns(artifact.text))]
    return [shown(demo) for demo in _demos(artifact.content)] if artifact.kind == "dspy" else []


def instructions(artifact: Artifact) -> str:
    """Return all text that is no demonstration."""
    if artifact.kind == "text":
        turns = split_turns(artifact.text)
        demonstrated = {id(turn) for pair in _pairs(turns) for turn in pair}
        return "\n".join(turn.text for turn in turns if id(turn) not in demonstrated)
    return Artifact("dspy", _without_demos(artifact.content)).text if artifact.kind == "dspy" else artifact.text


def _pairs(turns: Sequence[Turn]) -> list[tuple[Turn, Turn]]:
    """Return each user turn that an assistant turn answers; any other user turn is the prompt's own."""
    return [(one, two) for one, two in pairwise(turns) if (one.role, two.role) == ("user", "assistant")]


def _demos(state: Any) -> list[Any]:
    """Return the demos of a program's state, or of one predictor's; programs nest them under the predictors' names."""
    if not isinstance(state, Mapping):
        return []
    found = state.get(_DEMOS)
    return list(found) if isinstance(found, list) else [demo for inner in state.values() for demo in _demos(inner)]


def _without_demos(state: Any) -> Any:
    if not isinstance(state, Mapping):
        return state
    return {
        name: _without_demos(inner) for name, inner in state.items() if name != _DEMOS or not isinstance(inner, list)
    }
