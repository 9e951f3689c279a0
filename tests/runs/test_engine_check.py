"""Whether the spec's engine can be used, as it is asked before anything is run."""

from __future__ import annotations

from pathlib import Path

import pytest

from skynet.evaluation.project import Project
from skynet.runs.engine_check import checked_engine
from skynet.runs.engines import EngineError
from skynet.runs.outlook import would_refuse
from skynet.spec import Spec, load_spec
from tests.projects import CHAT, PYTHON, model, write_project

REFLECTION = model("http://127.0.0.1:1/v1")


def spec_with(folder: Path, engine: str, more: str = "", target: str = PYTHON) -> Spec:
    write_project(folder, more=more, target=target)
    file = folder / "skynet.toml"
    file.write_text(f"engine = {engine}\n{file.read_text()}")
    return load_spec(folder)


@pytest.mark.parametrize(
    ("engine", "said"),
    [
        ('"gepaa"', "Did you mean 'gepa'"),
        ('{ name = "demos", max_demo = 3 }', "Did you mean 'max_demos'"),
        ('{ name = "best_of_n", n = 0 }', r"\[engine\] n: "),
        ('{ name = "gepa", labels = true }', "does not use labels"),
    ],
)
def test_a_wrong_name_or_option_is_an_error_that_names_what_is_right(tmp_path: Path, engine: str, said: str) -> None:
    with pytest.raises(EngineError, match=said):
        checked_engine(spec_with(tmp_path, engine))


@pytest.mark.parametrize(
    ("engine", "more", "target", "said"),
    [
        ('"gepa"', "", PYTHON, "gepa needs a reflection model"),
        ('"demos"', REFLECTION, PYTHON, "demos writes turns of a chat"),
        ('"auto"', "", PYTHON, "none of its lanes can"),
        ('"gepa"', REFLECTION, PYTHON, ""),
        ('"demos"', model("http://127.0.0.1:1/v1", "task"), CHAT, ""),
    ],
)
def test_an_engine_says_why_it_cannot_work_on_a_project(
    tmp_path: Path, engine: str, more: str, target: str, said: str
) -> None:
    spec = spec_with(tmp_path, engine, more, target)
    with Project(spec) as opened:
        told = would_refuse(opened, *checked_engine(spec))
    assert said in told
    assert bool(told) == bool(said)


def test_without_a_start_version_the_kind_of_the_artifact_tells_enough(tmp_path: Path) -> None:
    write_project(tmp_path, more=REFLECTION)
    file = tmp_path / "skynet.toml"
    file.write_text('engine = "dspy"\n' + file.read_text().replace('path = "start.txt"\n', ""))
    spec = load_spec(tmp_path)
    with Project(spec) as opened:
        assert "work on DSPy programs" in would_refuse(opened, *checked_engine(spec))
