"""The examples whose artifact is code have a gain to be found: with a proposer that writes it, a run finds it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from skynet.runs.money import Refused
from skynet.runs.session import Given, run_project
from skynet.spec import load_spec
from tests.loopback import ModelServer, model_server

__all__ = ["model_server"]

EXAMPLES = Path(__file__).parent.parent / "examples"
DURATIONS = '''
import re

UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def run(input):
    """Return the duration in seconds."""
    text = input["text"].lower()
    if ":" in text:
        seconds = 0
        for part in text.split(":"):
            seconds = seconds * 60 + int(part)
        return seconds
    parts = re.findall(r"([0-9.]+) *([a-z]*)", text)
    return sum(float(number) * UNITS.get("ms" if unit == "ms" else unit[:1], 1) for number, unit in parts)
'''
PASSAGES = """The search tries every passage; a longer one than the best so far is all that matters.
<<<<<<< SEARCH
        for end in range(start + 1, len(first) + 1):
            if first[start:end] in second and end - start > longest:
                longest = end - start
=======
        while start + longest < len(first) and first[start : start + longest + 1] in second:
            longest += 1
>>>>>>> REPLACE
"""


def spec_of(example: str, folder: Path, server: ModelServer, metric_calls: int) -> Any:
    """Copy the example and return its spec, with the server as its reflection model."""
    project = shutil.copytree(EXAMPLES / example, folder / example)
    reflection = {"name": "openai/loopback", "base_url": server.url, "price": {"input": 0.0, "output": 0.0}}
    return load_spec(project, {"models": {"reflection": reflection}, "budget": {"metric_calls": metric_calls}})


@pytest.mark.parametrize(
    ("example", "reply", "metric_calls"),
    [("durations", f"```python{DURATIONS}```", 90), ("passages", PASSAGES, 50)],
)
def test_a_run_finds_the_gain(
    example: str, reply: str, metric_calls: int, model_server: ModelServer, tmp_path: Path
) -> None:
    model_server.reply = reply
    spec = spec_of(example, tmp_path, model_server, metric_calls)
    result = run_project(spec, Given(accept_code=True))
    assert result.changed, result.data["error"]
    assert result.difference is not None
    assert (result.difference.mean or 0.0) > 0.05  # passages blends in speed, so a faster machine leaves less to gain
    assert "ran as this user" in result.data["not_isolated"]
    assert "reach the network" in result.data["not_isolated"]


def test_code_that_a_model_writes_is_not_run_without_a_word_of_trust(model_server: ModelServer, tmp_path: Path) -> None:
    spec = spec_of("durations", tmp_path, model_server, 90)
    with pytest.raises(Refused, match="--trust-artifacts"):
        run_project(spec, Given(accept=True))
    assert not (spec.root / ".skynet").exists()
    assert model_server.requests == []
