"""What the README shows works as it stands there, but for the models' addresses."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from skynet.evaluation.check_project import check_project
from skynet.evaluation.project import Project
from skynet.spec import Spec, load_spec
from tests.loopback import ModelServer, model_server

__all__ = ["model_server"]

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def block(language: str, holding: str) -> str:
    """Return the README's only code block of a language that holds a text."""
    [found] = [code for code in re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL) if holding in code]
    return str(found)


@pytest.fixture
def spec(tmp_path: Path, model_server: ModelServer) -> Spec:
    rows = [f"message number {number},{('billing', 'shipping')[number % 2]}" for number in range(40)]
    (tmp_path / "rows.csv").write_text("\n".join(["message,team", *rows]))
    (tmp_path / "prompt.md").write_text("Sort the message.")
    (tmp_path / "metric.py").write_text(block("python", "def score"))
    (tmp_path / "skynet.toml").write_text(block("toml", "objective"))
    model = {"name": "openai/loopback", "base_url": model_server.url}
    return load_spec(tmp_path, {"models": {"task": model, "reflection": model}})


def test_the_first_run_takes_ten_lines_at_most() -> None:
    commands = re.findall(r"^skynet (?:check|run|runs export) .*$", README, re.MULTILINE)
    assert commands
    assert len(block("toml", "objective").splitlines()) + len(commands) <= 10


def test_the_first_runs_files_pass_the_check(spec: Spec, model_server: ModelServer) -> None:
    model_server.reply = "billing"
    with Project(spec) as project:
        result = check_project(project)
    assert result.ok
    assert {sample.score for sample in result.samples} == {0.0, 1.0}


def test_the_first_run_holds_out_a_fifth_of_the_rows(spec: Spec) -> None:
    with Project(spec) as project:
        assert len(project.dataset.test) == 8
