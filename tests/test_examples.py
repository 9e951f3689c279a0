"""Every example, and every template of `skynet init`, passes the check as a user would run it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from skynet.cli.init import TEMPLATES, write_project

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted(path.parent for path in (ROOT / "examples").glob("*/skynet.toml"))
WITHOUT_A_MODEL = ["python", "reward", "code"]
WITH_A_TASK_MODEL = ["chat", "parts", "reviews", "dspy"]


def run_check(project: Path) -> tuple[int, dict[str, Any]]:
    command = [sys.executable, "-m", "skynet.cli.main", "check", str(project), "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return done.returncode, report


def statuses(report: dict[str, Any]) -> dict[str, str]:
    return {stage["name"]: stage["status"] for stage in report["stages"]}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_an_example_passes_every_stage(example: Path, tmp_path: Path) -> None:
    project = shutil.copytree(example, tmp_path / example.name)
    status, report = run_check(project)
    assert (status, report["ok"]) == (0, True), report
    told = statuses(report)
    assert told.pop("Reward spec") in ("passed", "skipped"), report  # an example need not define one
    assert set(told.values()) == {"passed"}, report


@pytest.mark.parametrize("template", WITHOUT_A_MODEL)
def test_a_template_without_a_model_passes_with_three_samples(template: str, tmp_path: Path) -> None:
    write_project(tmp_path, template)
    status, report = run_check(tmp_path)
    assert (status, report["ok"]) == (0, True), report
    assert "pending" not in statuses(report).values()
    assert len(report["samples"]) == 3
    assert all(sample["score"] is not None for sample in report["samples"])


@pytest.mark.parametrize("template", ["chat", "parts"])
def test_a_template_that_needs_a_task_model_is_checked_with_expected_values_until_then(
    template: str, tmp_path: Path
) -> None:
    write_project(tmp_path, template)
    status, report = run_check(tmp_path)
    assert (status, report["ok"]) == (0, True), report
    assert statuses(report)["Run output"] == "pending"
    assert statuses(report)["Perfect answer"] == "passed"
    assert len(report["samples"]) == 3


def test_the_judge_template_is_pending_until_a_model_is_named(tmp_path: Path) -> None:
    write_project(tmp_path, "judge")
    status, report = run_check(tmp_path)
    assert (status, report["ok"]) == (0, True), report
    assert statuses(report)["Run output"] == "passed"
    assert statuses(report)["Metric return value"] == "pending"


def test_the_reward_template_reports_speed_and_cost(tmp_path: Path) -> None:
    write_project(tmp_path, "reward")
    _, report = run_check(tmp_path)
    for sample in report["samples"]:
        assert set(sample["scores"]) == {"accuracy", "speed", "cost"}
        assert sample["elapsed_ms"] > 0
        assert sample["cost_usd"] == 0.0


def test_every_template_is_checked_here() -> None:
    assert {path.name for path in TEMPLATES.iterdir()} == {*WITHOUT_A_MODEL, *WITH_A_TASK_MODEL, "judge"}
