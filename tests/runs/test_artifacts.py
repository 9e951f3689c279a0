"""Runs whose artifact is no single text, from the start to the report."""

from __future__ import annotations

import json
import re
from pathlib import Path

from skynet.runs.result import RunResult
from skynet.runs.session import Given, run_project
from skynet.spec import load_spec
from tests.loopback import Body, ModelServer, model_server

__all__ = ["model_server"]

METRIC = """
def score(input, output, expected=None):
    missing = [word for word in ("hello", "sorry") if word not in output]
    return 1 - len(missing) / 2, {"feedback": f"It does not say {missing}." if missing else "Good."}
"""
RUN = """
def run(artifact, input):
    return artifact["opening"] + " " + artifact["body"].replace("{{ name }}", input["name"])
"""
SPEC = """
objective = "Write letters."
engine = { name = "gepa", part_selection = "all" }
[artifact]
kind = "parts"
path = "parts"
[target]
kind = "python"
path = "run.py"
[metric]
path = "metric.py"
[data]
path = "rows.jsonl"
inputs = ["name"]
split = { train = 0.4, val = 0.3, test = 0.3 }
[budget]
metric_calls = 80
"""


def run(folder: Path, server: ModelServer) -> RunResult:
    (folder / "parts").mkdir()
    files = {
        "skynet.toml": SPEC, "metric.py": METRIC, "run.py": RUN, "parts/opening.md": "Hey.",
        "parts/body.md": "About {{ name }}.",
        "rows.jsonl": "\n".join(json.dumps({"name": f"name {number}"}) for number in range(12)),
    }  # fmt: skip
    for name, text in files.items():
        (folder / name).write_text(text)
    reflection = {"name": "openai/loopback", "base_url": server.url, "price": {"input": 0.0, "output": 0.0}}
    return run_project(load_spec(folder, {"models": {"reflection": reflection}}), Given())


def test_parts_are_rewritten_together_and_a_lost_placeholder_is_told(model_server: ModelServer, tmp_path: Path) -> None:
    asked = 0

    def reply(body: Body) -> str:
        nonlocal asked
        prompt = body["messages"][-1]["content"]
        if "the part 'opening'" in prompt:
            return "```\nhello there.\n```"
        asked += 1
        return "```\nsorry.\n```" if asked == 1 else "```\nsorry, {{ name }}.\n```"

    model_server.reply = reply
    result = run(tmp_path, model_server)
    assert result.changed, result.data["error"]
    assert result.data["best"]["test"] == 1.0
    (rejection,) = [item for item in result.data["rejections"] if "placeholder" in item["reason"]]
    assert rejection["reason"] == "the part 'body' lost the placeholder {{ name }}; keep each one"
    told = [item.body["messages"][-1]["content"] for item in model_server.requests]
    assert any("lost the placeholder {{ name }}" in prompt for prompt in told[1:])
    assert any(re.search(r"# The other parts\n## opening\n```\nHey\.", prompt) for prompt in told)
    assert result.data["not_isolated"] is None
