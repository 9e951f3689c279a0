from __future__ import annotations

from typing import Any

import pytest

from skynet.artifact import Artifact, Content, Kind
from skynet.runs.demonstrations import demonstrations, instructions

PREDICTOR: dict[str, Any] = {"demos": [{"text": "SHOWN", "label": "good"}], "signature": {"instructions": "TOLD"}}


@pytest.mark.parametrize(
    ("kind", "content", "shown", "told"),
    [
        ("text", "TOLD", [], "TOLD"),
        ("text", "TOLD\nuser:\nSHOWN\nassistant:\ngood", ["SHOWN -> good"], "TOLD"),
        ("text", "user:\nTOLD {{ text }}", [], "TOLD {{ text }}"),
        ("text", "user:\nSHOWN\nassistant:\ngood\nuser:\nTOLD {{ text }}", ["SHOWN -> good"], "TOLD {{ text }}"),
        ("text", "assistant:\nTOLD", [], "TOLD"),
        ("parts", {"first": "TOLD", "demos": "told too"}, [], "## first\nTOLD\n## demos\ntold too"),
        ("code", "user:\nTOLD\nassistant:\nx", [], "user:\nTOLD\nassistant:\nx"),
    ],
)
def test_only_a_user_turn_with_its_answer_is_a_demonstration(
    kind: Kind, content: Content, shown: list[str], told: str
) -> None:
    artifact = Artifact(kind, content)
    assert demonstrations(artifact) == shown
    assert instructions(artifact) == told


@pytest.mark.parametrize("content", [PREDICTOR, {"sort": PREDICTOR, "metadata": {"dspy": "3"}}])
def test_the_demos_of_a_program_are_demonstrations_and_its_instructions_are_not(content: dict[str, Any]) -> None:
    artifact = Artifact("dspy", content)
    assert demonstrations(artifact) == ["text: SHOWN\nlabel: good"]
    assert "TOLD" in instructions(artifact)
    assert "SHOWN" not in instructions(artifact)
