"""How many calls of a model are under way, and how many cases wait ready for a place among them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from skynet.evaluation.places import calls_at_once, cases_ahead
from skynet.spec import Spec, load_spec

CHAT: dict[str, Any] = {"target": {"kind": "chat"}, "models": {"task": "openai/small"}}
LOCAL: dict[str, Any] = {"target": {"kind": "chat"}, "models": {"task": "local/smollm2-135m"}}
PYTHON: dict[str, Any] = {"target": {"kind": "python", "path": "run.py"}, "models": {"task": "openai/small"}}


def spec_of(folder: Path, parts: dict[str, Any], concurrency: int) -> Spec:
    for name in ("start.txt", "metric.py", "run.py", "rows.csv"):
        (folder / name).touch()
    (folder / "skynet.toml").write_text(
        '[artifact]\npath = "start.txt"\n[metric]\npath = "metric.py"\n[data]\npath = "rows.csv"\ninputs = ["text"]\n'
    )
    return load_spec(folder, {**parts, "evaluation": {"concurrency": concurrency}})


@pytest.mark.parametrize(
    ("parts", "concurrency", "calls", "ahead"),
    [
        (CHAT, 1, 1, 0),
        (CHAT, 8, 8, 1),
        (CHAT, 32, 32, 4),
        (CHAT, 64, 64, 8),
        (LOCAL, 32, 32, 0),
        (PYTHON, 8, 32, 0),
        (PYTHON, 64, 64, 0),
    ],
)
def test_a_server_that_chat_cases_call_always_has_cases_that_wait_for_it(
    tmp_path: Path, parts: dict[str, Any], concurrency: int, calls: int, ahead: int
) -> None:
    spec = spec_of(tmp_path, parts, concurrency)
    assert (calls_at_once(spec), cases_ahead(spec, concurrency)) == (calls, ahead)
