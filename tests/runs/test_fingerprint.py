from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from skynet.evaluation.project import Functions, Project
from skynet.runs.fingerprint import changed_parts, code_fingerprint, evaluation_scope, fingerprint, target_fingerprint

from .plans import plan, rows, spec_of, write_plans

MODELS = '[models.task]\nname = "openai/small"\nbase_url = "http://127.0.0.1:1/v1"\nparams = { temperature = 0.5 }\n'


def marks(folder: Path, given: Mapping[str, Any] | None = None, functions: Functions | None = None) -> dict[str, Any]:
    with Project(spec_of(folder, given), functions=functions) as project:
        return fingerprint(project)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = write_plans(tmp_path, plan("start"), engine='name = "gepa"', more=MODELS)
    (folder / "helper.py").write_text("x = 1\n", encoding="utf-8")
    (folder / "metric.py").write_text("import helper\n" + (folder / "metric.py").read_text(), encoding="utf-8")
    return folder


def edit(folder: Path, name: str, old: str, new: str) -> None:
    text = (folder / name).read_text(encoding="utf-8")
    assert old in text
    (folder / name).write_text(text.replace(old, new), encoding="utf-8")


def test_the_same_project_has_the_same_fingerprint(folder: Path) -> None:
    assert marks(folder) == marks(folder)


@pytest.mark.parametrize(
    ("name", "old", "new", "part"),
    [
        ("metric.py", "no luck", "bad luck", "metric"),
        ("helper.py", "x = 1", "x = 2", "metric"),
        ("run.py", "no output", "nothing", "target"),
        ("start.json", "start", "begin", "start"),
        ("rows.jsonl", "val1", "val9", "data"),
        ("rows.jsonl", '"part": "val"', '"part": "train"', "data"),
        ("skynet.toml", "Score high.", "Score higher.", "objective"),
        ("skynet.toml", 'name = "gepa"', 'name = "gepa"\nmax_proposals = 3', "engine"),
        ("skynet.toml", "openai/small", "openai/large", "models.task.name"),
        ("skynet.toml", "temperature = 0.5", "temperature = 0.6", "models.task.params.temperature"),
        ("skynet.toml", "repeats = 1", "repeats = 2", "evaluation.repeats"),
    ],
)
def test_what_results_depend_on_is_named_when_it_changes(
    folder: Path, name: str, old: str, new: str, part: str
) -> None:
    before = marks(folder)
    edit(folder, name, old, new)
    assert changed_parts(before, marks(folder)) == [part]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("metric_calls = 100", "metric_calls = 900"),
        ("concurrency = 2", "concurrency = 7"),
        ("timeout = 20", "timeout = 30"),
        ("[models.task]", "[models.task]\nprice = { input = 1.0, output = 2.0 }"),
    ],
)
def test_what_changes_no_result_is_not_in_it(folder: Path, old: str, new: str) -> None:
    before = marks(folder)
    edit(folder, "skynet.toml", old, new)
    assert marks(folder) == before


def test_a_file_that_the_metric_does_not_import_is_not_in_it(folder: Path) -> None:
    before = marks(folder)
    (folder / "notes.py").write_text("y = 1\n", encoding="utf-8")
    assert marks(folder) == before


def test_files_of_one_name_in_two_folders_are_told_apart(folder: Path) -> None:
    for package in ("one", "two"):
        (folder / package).mkdir()
        (folder / package / "__init__.py").write_text(f"name = '{package}'\n", encoding="utf-8")
    edit(folder, "metric.py", "import helper", "import one, two")
    before = marks(folder)
    edit(folder, "one/__init__.py", "one", "changed")
    assert changed_parts(before, marks(folder)) == ["metric"]


def test_a_file_that_a_neighbour_imports_is_in_it(folder: Path) -> None:
    (folder / "deep.py").write_text("z = 1\n", encoding="utf-8")
    edit(folder, "helper.py", "x = 1", "from deep import z as x")
    before = marks(folder)
    edit(folder, "deep.py", "1", "2")
    assert changed_parts(before, marks(folder)) == ["metric"]


@pytest.mark.parametrize("content", [b"def score(:\n", b"x = 1\x00\n", b"\xff\xfe"])
def test_a_file_that_does_not_parse_has_a_fingerprint(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "metric.py"
    path.write_bytes(content)
    assert code_fingerprint(path) != code_fingerprint(Path(__file__))


def test_the_scope_of_an_evaluation_leaves_out_what_only_the_search_depends_on(folder: Path) -> None:
    before = evaluation_scope(marks(folder))
    edit(folder, "skynet.toml", 'name = "gepa"', 'name = "gepa"\nmax_proposals = 3')
    edit(folder, "skynet.toml", "Score high.", "Score higher.")
    edit(folder, "rows.jsonl", "val1", "val9")
    assert evaluation_scope(marks(folder)) == before
    edit(folder, "metric.py", "no luck", "bad luck")
    assert evaluation_scope(marks(folder)) != before


def scorer(weight: float, inner: Callable[[float], float] | None = None) -> Callable[..., Any]:
    def score(input: Any, output: Any, expected: Any = None) -> Any:
        return weight * (inner(output) if inner else output), {"feedback": "fine"}

    return score


def doubled(value: float) -> float:
    return value * 2


def tripled(value: float) -> float:
    return value * 3


def test_a_function_is_its_source_and_the_values_of_its_closure(tmp_path: Path) -> None:
    folder = write_plans(tmp_path, data=rows(), engine='name = "gepa"')
    one = marks(folder, functions=Functions(metric=scorer(0.5)))
    assert marks(folder, functions=Functions(metric=scorer(0.5))) == one
    assert changed_parts(one, marks(folder, functions=Functions(metric=scorer(0.75)))) == ["metric.weight"]


def test_a_function_in_a_closure_is_its_source_and_not_its_address() -> None:
    assert code_fingerprint(scorer(1.0, doubled)) == code_fingerprint(scorer(1.0, doubled))
    assert code_fingerprint(scorer(1.0, doubled)) != code_fingerprint(scorer(1.0, tripled))
    assert code_fingerprint(scorer(1.0, lambda value: value)) == code_fingerprint(scorer(1.0, lambda value: value))


def test_a_function_that_calls_itself_has_a_fingerprint() -> None:
    def outer() -> Callable[[int], int]:
        def count(number: int) -> int:
            return count(number - 1) if number else 0

        return count

    assert code_fingerprint(outer()) == code_fingerprint(outer())


def test_a_part_that_only_one_side_has_is_named() -> None:
    assert changed_parts({"a": 1, "m": {"x": 1}}, {"b": 1, "m": {"x": 1, "y": 2}}) == ["a", "b", "m.y"]


def test_a_metric_yaml_counts_with_the_files_that_it_names(tmp_path: Path) -> None:
    (tmp_path / "metrics").mkdir()
    (tmp_path / "metrics" / "mine.yaml").write_text("checks: {own: {type: metric, path: ../mine.py}}")
    (tmp_path / "mine.py").write_text("import helper\n")
    (tmp_path / "helper.py").write_text("x = 1\n")
    path = tmp_path / "metric.yaml"
    path.write_text("checks: {a: {type: mine}}")
    seen = {code_fingerprint(path)}
    for name in ("metric.yaml", "metrics/mine.yaml", "mine.py", "helper.py"):
        (tmp_path / name).write_text((tmp_path / name).read_text() + "\n# changed")
        seen.add(code_fingerprint(path))
    assert len(seen) == 5


def test_a_long_argument_of_a_command_is_no_file(folder: Path) -> None:
    def mark(script: str) -> Any:
        with Project(spec_of(folder)) as project:
            target = project.spec.target.model_copy(update={"kind": "command", "argv": ("sh", "-c", script)})
            project.spec = project.spec.model_copy(update={"target": target})
            return target_fingerprint(project)

    assert mark("echo one; " * 40) != mark("echo two; " * 40)
