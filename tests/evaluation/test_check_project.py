from __future__ import annotations

import re
from pathlib import Path

import pytest

from skynet.evaluation.check_project import check_metric
from skynet.evaluation.cost_notice import cost_notice
from skynet.evaluation.project import Project
from skynet.spec import load_spec
from tests.loopback import ModelServer
from tests.projects import CHAT, METRIC, PYTHON, model, stage, write_project

SCORE = """
from skynet import observation

def score(input, output, expected=None):
    seen = observation()
    return float(output == expected), {"feedback": f"{input} {output!r} {expected} {seen.elapsed_ms} {seen.cost_usd}"}
"""


@pytest.fixture
def metric(tmp_path: Path) -> Path:
    (tmp_path / "metric.py").write_text(SCORE)
    return tmp_path / "metric.py"


def test_a_metric_alone_is_called_on_the_given_values_with_nothing_measured(metric: Path, tmp_path: Path) -> None:
    result = check_metric(metric, ["x"], input={"a": 1}, expected={"b": 2}, folder=tmp_path)
    (sample,) = result.samples
    assert (sample.case, sample.output, sample.score) == ("given", ["x"], 0.0)
    assert sample.feedback == "{'a': 1} ['x'] {'b': 2} None None"
    assert (sample.elapsed_ms, sample.cost_usd, result.metric_calls) == (None, None, 3)
    assert stage(result, "Run output").status == "skipped"


def test_without_input_and_expected_they_are_empty_and_none(metric: Path, tmp_path: Path) -> None:
    (sample,) = check_metric(metric, "x", folder=tmp_path).samples
    assert sample.feedback == "{} 'x' None None None"


@pytest.mark.parametrize(
    ("name", "words"),
    [("missing.py", "There is no file missing.py"), ("no/metric.py", "no cannot be entered: No such")],
)
def test_a_missing_metric_file_fails_its_stage(tmp_path: Path, name: str, words: str) -> None:
    result = check_metric(tmp_path / name, "x", folder=tmp_path)
    assert (result.ok, stage(result, "Metric file").status) == (False, "failed")
    assert words in stage(result, "Metric file").message


def test_models_and_the_metrics_timeout_come_from_the_folders_spec(tmp_path: Path) -> None:
    server = ModelServer("PASS")
    folder = write_project(tmp_path, more=model(server.url))
    judge = folder / "judge.py"
    judge.write_text("from skynet import llm\ndef score(input, output):\n    return 1, {'feedback': llm('x')}\n")
    for given in (folder, folder / "skynet.toml"):
        assert check_metric(judge, "x", folder=given).samples[0].feedback == "PASS"
    server.close()
    slow = folder / "slow.py"
    slow.write_text("import time\ndef score(input, output):\n    time.sleep(60)\n")
    spec = folder / "skynet.toml"
    spec.write_text(spec.read_text().replace("timeout = 10", "timeout = 0.3", 1))
    assert "more than 0.3 s" in stage(check_metric(slow, "x", folder=folder), "Metric call").message


@pytest.mark.parametrize(
    ("target", "price", "notice"),
    [
        (CHAT, "{ input = 1.0, output = 2.0 }", r"The target makes 2 calls to openai/loopback; at most \$0\.00\d+\."),
        (CHAT, "", r"The target makes 2 calls to openai/loopback; no price is known for it\."),
        (CHAT, "{ input = 0, output = 0 }", "^$"),
        (PYTHON, "", r"The target may call openai/loopback on 2 cases; what that costs depends on what it asks\."),
    ],
)
def test_what_the_target_calls_may_cost_is_said(tmp_path: Path, target: str, price: str, notice: str) -> None:
    more = model("http://127.0.0.1:9/v1", "task", price)
    with Project(load_spec(write_project(tmp_path, METRIC, target=target, more=more))) as project:
        assert re.search(notice, cost_notice(project, project.dataset.train[:2]))
        assert cost_notice(project, []) == ""


def test_without_a_task_model_nothing_is_said(tmp_path: Path) -> None:
    with Project(load_spec(write_project(tmp_path))) as project:
        assert cost_notice(project, project.dataset.train) == ""


def test_a_metric_alone_needs_no_target_beside_it(tmp_path: Path) -> None:
    (tmp_path / "skynet.toml").write_text("[eval.metrics.mine]\ntype = 'metric'\npath = 'm.py'\n")
    (tmp_path / "m.py").write_text("def score(input, output):\n    return 1.0, {'feedback': 'Fine.'}\n")
    assert check_metric(tmp_path / "m.py", "x", folder=tmp_path).ok
