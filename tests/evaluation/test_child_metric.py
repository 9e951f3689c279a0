"""metric.yaml in the child: a `score`, or a problem at the right stage and line."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from skynet.evaluation.check_project import check_metric, check_project
from skynet.evaluation.child_metric import load_file
from skynet.evaluation.project import Project
from skynet.metric.contract import Scored, validate
from skynet.metric.load import LoadedMetric
from skynet.metric.problem import LoadProblem
from skynet.spec import load_spec
from tests.metric.calls import call
from tests.projects import SPEC, stage, write_project

PAGE = (Path(__file__).parents[2] / "docs" / "metric_yaml.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```yaml\n(.*?)```", PAGE, flags=re.DOTALL)
METRIC = "def score(input, output, expected=None):\n    return len(output), {'feedback': 'Its length.'}\n"
JUDGED = "checks: {kind: {type: judge, criteria: Be kind.}}"


def load(folder: Path, text: str, **beside: str) -> LoadedMetric:
    (folder / "metrics").mkdir(exist_ok=True)
    for name, other in beside.items():
        (folder / "metrics" / f"{name}.yaml").write_text(other)
    (folder / "metric.yaml").write_text(text)
    return load_file(folder / "metric.yaml")


def scored(loaded: LoadedMetric, output: Any, expected: Any = None) -> Scored:
    found = validate(loaded.style.call(loaded.score, {}, output, expected))
    assert isinstance(found, Scored)
    return found


@pytest.mark.parametrize(
    ("block", "output", "score"),
    [(BLOCKS[0], "billing", 1.0), (BLOCKS[0], "sorry", 0.0), (BLOCKS[1], "{}", 1.0), (BLOCKS[1], "{", 0.0)],
)
def test_a_block_of_the_page_scores(block: str, output: str, score: float, tmp_path: Path) -> None:
    assert scored(load(tmp_path, block), output, {"label": "billing"}).score == score


def test_weights_make_the_mean_a_weighted_one(tmp_path: Path) -> None:
    loaded = load(tmp_path, "checks:\n  a: {type: exact_match, weight: 3}\n  b: {type: regex, pattern: z}")
    assert scored(loaded, "x", {"label": "x"}).score == 0.75


def test_a_judge_is_asked_and_told_to_the_host(tmp_path: Path) -> None:
    loaded = load(tmp_path, JUDGED)
    with call('{"reason": "It is.", "choice": "pass"}'):
        assert scored(loaded, "hello").score == 1.0
    assert loaded.calls_llm


def test_a_check_may_be_a_file_of_either_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "mine.py").write_text(METRIC)
    text = "checks:\n  long: {type: metric, path: mine.py, threshold: 3}\n  kind: {type: kind, weight: 0}"
    loaded = load(tmp_path, text, kind=JUDGED)
    assert [Path(file).name for file in loaded.files] == ["metric.yaml", "mine.py", "kind.yaml"]
    assert loaded.calls_llm
    with call('{"reason": "No.", "choice": "fail"}'):
        assert scored(loaded, "long").score == 1.0


@pytest.mark.parametrize(
    ("text", "stage", "line", "says"),
    [
        (" \n", "Metric file", None, "metric.yaml is empty"),
        ("checks:\n  a: [", "Metric load", 2, "not valid YAML"),
        ("checks:\n  a: {type: f1x}", "Metric function", 2, r"checks\.a: There is no scorer 'f1x'.*Did you mean 'f1'"),
        ("checks:\n  a: {type: f1, treshold: 0}", "Metric function", 2, "no option 'treshold'.*'threshold'"),
        ("checks:\n  a: {type: f1, weight: x}", "Metric function", 2, r'checks\.a\.weight = "x": should be a number'),
        ("signals: [b]\nchecks: {a: {type: f1}}", "Metric function", None, "a signal is 'b'; it must be one of 'a'"),
        ("checks:\n  a: {type: loop}", "Metric function", 2, r"loop\.yaml is a check of itself"),
    ],
)
def test_a_problem_names_stage_line_key_and_what_is_near(
    text: str, stage: str, line: int | None, says: str, tmp_path: Path
) -> None:
    with pytest.raises(LoadProblem, match=says) as caught:
        load(tmp_path, text, loop="checks: {a: {type: loop}}")
    assert caught.value.stage == stage
    assert line is None or caught.value.line == line


def test_a_project_is_checked_with_a_metric_yaml(tmp_path: Path) -> None:
    folder = write_project(tmp_path, beside={"metric.yaml": "checks: {same: {type: exact_match, column: label}}"})
    text = (folder / "skynet.toml").read_text()
    (folder / "skynet.toml").write_text(text.replace("timeout = 10", 'path = "metric.yaml"', 1))
    assert '[metric]\npath = "metric.yaml"' in (folder / "skynet.toml").read_text()
    with Project(load_spec(folder)) as project:
        result = check_project(project)
    assert result.ok
    assert {tuple(sample.scores) for sample in result.samples} == {("same",)}
    assert SPEC in text


def test_a_metric_yaml_alone_is_checked_on_one_output(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text("checks:\n  a:\n    type: exact_mach")
    result = check_metric(tmp_path / "m.yaml", "x", folder=tmp_path)
    found = stage(result, "Metric function")
    assert (found.status, found.line) == ("failed", 2)
    assert "Did you mean 'exact_match'" in found.message
