"""What Python gives in place of files: the spec that it makes, the start version, and what is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from skynet.artifact import Artifact
from skynet.errors import SkynetError
from skynet.evaluation.arguments import Arguments, require_whole
from skynet.evaluation.project import Project
from tests.projects import PYTHON, write_project

ROWS = [{"message": "Where is it?", "team": "shipping"}] * 5
MODELS = {"task": "openai/small", "reflection": "openai/large"}
DATA = {"inputs": ["message"], "outputs": ["team"]}
ALL = ("artifact", "metric", "task", "cases", "budget")


def score(input: Any, output: Any, expected: Any = None) -> Any:
    return 1.0, {"feedback": "Fine."}


def run(artifact: Any, input: Any) -> Any:
    return artifact


WHOLE: dict[str, Any] = {
    "artifact": "Sort it.", "metric": score, "cases": ROWS, "data": DATA, "models": MODELS, "budget": 100,
}  # fmt: skip


def test_the_arguments_alone_make_a_spec(tmp_path: Path) -> None:
    given = Arguments(**WHOLE, engine="gepa", objective="Sort messages.")
    require_whole(tmp_path, None, given, ALL)
    spec = given.spec(tmp_path, None)
    assert (spec.objective, spec.engine.name, spec.budget.metric_calls) == ("Sort messages.", "gepa", 100)
    assert (spec.target.kind, spec.root) == ("chat", tmp_path)
    assert given.start(spec) == Artifact("text", "Sort it.")
    assert len(given.dataset(spec).train) == 3  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("without", "told"),
    [
        ("artifact", 'artifact="Sort the message."'),
        ("metric", "metric=score: a function score(input, output, expected)"),
        ("models", 'models={"task": "openai/gpt-4.1-nano"}'),
        ("cases", 'cases=rows, data={"inputs": ["message"]'),
        ("budget", "budget=400"),
    ],
)
def test_what_is_missing_is_named_with_an_example(without: str, told: str, tmp_path: Path) -> None:
    whole = {name: value for name, value in WHOLE.items() if name != without}
    if without == "cases":
        del whole["data"]
    with pytest.raises(SkynetError) as caught:
        require_whole(tmp_path, None, Arguments(**whole), ALL)
    lines = str(caught.value).splitlines()
    assert len(lines) == 3
    assert lines[1].strip().startswith(told)


@pytest.mark.parametrize(
    "change",
    [
        {"artifact": None, "objective": "Sort messages."},  # the first version is written
        {"models": None, "target": run},
        {"models": None, "target": {"kind": "http", "url": "http://127.0.0.1:1"}},
        {"cases": None, "data": {**DATA, "path": "rows.csv"}},
        {"cases": None, "data": None, "target": run},  # one case without an input
        {"artifact": Artifact("code", "def run(input): return 1"), "models": None, "cases": None, "data": None},
    ],
)
def test_what_can_be_done_without_is_not_missing(change: dict[str, Any], tmp_path: Path) -> None:
    require_whole(tmp_path, None, Arguments(**{**WHOLE, **change}), ALL)


def test_a_spec_as_a_dict_may_say_what_arguments_leave_out(tmp_path: Path) -> None:
    rest = {"artifact": {"path": "prompt.md"}, "models": MODELS, "budget": {"usd": 1.0}}
    require_whole(tmp_path, rest, Arguments(metric=score), ALL)
    with pytest.raises(SkynetError, match=r"^spec and arguments leave something out\. Add:\n  metric=score"):
        require_whole(tmp_path, rest, Arguments(), ALL)


def test_a_metric_file_in_the_folder_is_found(tmp_path: Path) -> None:
    (tmp_path / "metric.py").write_text("")
    require_whole(tmp_path, None, Arguments(**{**WHOLE, "metric": None}), ALL)


def test_arguments_win_over_the_file(tmp_path: Path) -> None:
    folder = write_project(tmp_path, more='[models]\ntask = "openai/small"\n[budget]\nmetric_calls = 5\nusd = 1.0\n')
    given = Arguments(artifact="Mine.", budget=7, target={"kind": "chat", "choices": ["a", "b"]})
    spec = given.spec(folder, None)
    assert (spec.budget.metric_calls, spec.budget.usd, spec.target.choices) == (7, 1.0, ("a", "b"))
    with Project(spec, start=given.start(spec)) as project:
        assert project.start == Artifact("text", "Mine.")


@pytest.mark.parametrize(
    ("artifact", "spec", "kind", "content"),
    [
        ("Text.", {}, "text", "Text."),
        ("x = 1", {"artifact": {"kind": "code"}}, "code", "x = 1"),
        ({"system": "A.", "user": "B."}, {}, "parts", {"system": "A.", "user": "B."}),
        (Artifact("code", "x = 1"), {}, "code", "x = 1"),
        (Artifact("parts", {"a": "A."}), {"target": {"kind": "python", "path": "run.py"}}, "parts", {"a": "A."}),
    ],
)
def test_each_kind_of_start_has_its_own_form(
    artifact: Any, spec: dict[str, Any], kind: str, content: Any, tmp_path: Path
) -> None:
    (tmp_path / "run.py").write_text("")
    given = Arguments(**{**WHOLE, "artifact": artifact})
    made = given.spec(tmp_path, spec)
    assert given.start(made) == Artifact(kind, content)  # type: ignore[arg-type]
    assert made.artifact.path is None


@pytest.mark.parametrize(("name", "kind"), [("prompt.md", "text"), ("parts", "parts")])
def test_a_path_is_the_file_or_the_folder_of_the_artifact(name: str, kind: str, tmp_path: Path) -> None:
    (tmp_path / "prompt.md").write_text("From a file.")
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "system.md").write_text("From a folder.")
    given = Arguments(**{**WHOLE, "artifact": tmp_path / name})
    spec = given.spec(tmp_path, None)
    with Project(spec, start=given.start(spec)) as project:
        assert project.start is not None
        assert (project.start.kind, "From a" in project.start.text) == (kind, True)


def test_a_path_may_be_of_code_or_a_program(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("")
    for kind in ("code", "dspy"):
        given = Arguments(metric=score, artifact=tmp_path / "program.py", budget=9)
        require_whole(tmp_path, {"artifact": {"kind": kind}}, given, ALL)
        spec = given.spec(tmp_path, {"artifact": {"kind": kind}})
        assert (spec.artifact.kind, spec.target.kind) == (kind, kind)
        assert spec.artifact.path == str(tmp_path / "program.py")


@pytest.mark.parametrize(
    ("artifact", "spec", "told"),
    [
        ("prompt.md", {}, "artifact is the text itself, and 'prompt.md' names a file; give artifact=Path('prompt.md')"),
        (score, {}, "score cannot be an artifact: give a text, a dict of texts by part, the Path of a file"),
        ("Text.", {"artifact": {"kind": "parts"}}, "artifact is of type str, and [artifact] kind is 'parts': a dict"),
        ("Text.", {"artifact": {"kind": "dspy"}}, 'a dspy artifact is a file; give it as artifact=Path("program.py")'),
        ({"sytem": "A."}, {}, "a chat target has no part 'sytem'; its turns are system, user, assistant"),
        ({"system": 1}, {}, "the part 'system' is of type int; parts are texts by name"),
        ({}, {}, "artifact has no part"),
    ],
)
def test_a_start_that_makes_no_sense_is_refused(artifact: Any, spec: dict[str, Any], told: str, tmp_path: Path) -> None:
    (tmp_path / "prompt.md").write_text("From a file.")
    given = Arguments(**{**WHOLE, "artifact": artifact})
    with pytest.raises(SkynetError) as caught:
        given.start(given.spec(tmp_path, spec))
    assert told in str(caught.value)


def test_a_parsed_spec_takes_no_tables(tmp_path: Path) -> None:
    spec = Arguments().spec(write_project(tmp_path, target=PYTHON), None)
    with pytest.raises(SkynetError, match="give artifact, budget inside the spec, or give the spec as a dict"):
        Arguments(artifact="A.", budget=3).spec(tmp_path, spec)
