"""Small real projects for tests: a folder with a spec, a metric, a target, an artifact and ten rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from skynet.evaluation.stages import CheckResult, Stage

METRIC = """
def score(input, output, expected=None):
    if output == expected["label"]:
        return 1.0, {"feedback": f"Correct for {input['text']}."}
    return 0.0, {"feedback": f"{input['text']} is no {output}."}
"""
RUN = """
def run(artifact, input):
    return artifact if input["text"].endswith("1") else "other"
"""
SPEC = """
objective = "Sort the texts."
[artifact]
path = "start.txt"
[data]
path = "rows.jsonl"
inputs = ["text"]
outputs = ["label"]
[metric]
timeout = 10
"""
PYTHON = '[target]\nkind = "python"\npath = "run.py"\ntimeout = 10\n'
CHAT = '[target]\nkind = "chat"\n'
ROWS = [{"text": f"text {number}", "label": f"label {number}"} for number in range(10)]


def write_project(
    folder: Path,
    metric: str | bytes = METRIC,
    run: str = RUN,
    *,
    start: str = "label 1",
    rows: list[dict[str, Any]] | None = None,
    target: str = PYTHON,
    more: str = "",
    beside: dict[str, str] | None = None,
) -> Path:
    """Write a project and return its folder. `more` is appended to the spec; `beside` are further files."""
    folder.mkdir(parents=True, exist_ok=True)
    source = metric if isinstance(metric, bytes) else metric.encode("utf-8", "surrogatepass")
    (folder / "metric.py").write_bytes(source)
    (folder / "run.py").write_text(run, encoding="utf-8")
    (folder / "start.txt").write_text(start, encoding="utf-8")
    lines = [json.dumps(row) for row in (ROWS if rows is None else rows)]
    (folder / "rows.jsonl").write_text("\n".join(lines), encoding="utf-8")
    budget = "" if "[budget]" in target + more else "[budget]\nmetric_calls = 1000\n"
    (folder / "skynet.toml").write_text(SPEC + target + more + budget, encoding="utf-8")
    for name, text in (beside or {}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def model(url: str, role: str = "reflection", price: str = "{ input = 1.0, output = 2.0 }") -> str:
    """Return a [models] table with the loopback server in a role; without a price when that is empty."""
    priced = f", price = {price}" if price else ""
    return f'[models]\n{role} = {{ name = "openai/loopback", base_url = "{url}"{priced} }}\n'


def stage(result: CheckResult, name: str) -> Stage:
    """Return one stage of a check."""
    (found,) = [item for item in result.stages if item.name == name]
    return found


def statuses(result: CheckResult) -> dict[str, str]:
    """Return the status of every stage by name, in order."""
    return {item.name: item.status for item in result.stages}
