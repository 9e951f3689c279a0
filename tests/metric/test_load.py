from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from skynet.metric.load import LoadedMetric, load_function, load_metric
from skynet.metric.problem import LoadProblem

GOOD = 'def score(input, output, expected=None):\n    return 1.0, {"feedback": "OK"}\n'
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Iterator[Write]:
    """Write metric.py (and neighbours) into a folder; what its loading leaves in this process is taken back."""
    path, modules = list(sys.path), set(sys.modules)

    def writer(source: str | bytes, **neighbours: str) -> Path:
        for name, text in neighbours.items():
            (tmp_path / f"{name}.py").write_text(text)
        metric = tmp_path / "metric.py"
        metric.write_bytes(source if isinstance(source, bytes) else source.encode())
        return metric

    yield writer
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def run(loaded: LoadedMetric, *values: Any) -> Any:
    input, output, expected = (*values, None, None, None)[:3]
    return loaded.style.call(loaded.score, input, output, expected)


def problem(path: Path) -> LoadProblem:
    with pytest.raises(LoadProblem) as caught:
        load_metric(path)
    return caught.value


@pytest.mark.parametrize(
    "source",
    [
        GOOD,
        b"\xef\xbb\xbf" + GOOD.encode(),
        GOOD.replace("\n", "\r\n"),
        b"# coding: latin-1\nNAME = '\xe9'\n" + GOOD.encode(),
        "score = lambda input, output: (1.0, {'feedback': 'OK'})",
        "import functools\ndef f(i, o, e, k): return 1.0, {'feedback': 'OK'}\nscore = functools.partial(f, k=1)",
        "async def score(input, output): return 1.0, {'feedback': 'OK'}",
        "class Judge:\n def __call__(self, input, output): return 1.0, {'feedback': 'OK'}\nscore = Judge()",
    ],
)
def test_a_metric_is_loaded_and_called(write: Write, source: str | bytes) -> None:
    assert run(load_metric(write(source))) == (1.0, {"feedback": "OK"})


def test_a_loaded_metric_says_where_score_is(write: Write) -> None:
    path = write("\n\n" + GOOD)
    loaded = load_metric(str(path))
    assert (loaded.file, loaded.line, loaded.files) == (str(path), 3, (str(path),))
    assert (loaded.warnings, loaded.calls_llm, loaded.reward_spec) == ((), False, None)


def test_the_module_is_registered_as_metric(write: Write) -> None:
    source = "import dataclasses\n@dataclasses.dataclass\nclass A:\n    x: 'int' = 1\n"
    path = write(source + GOOD)
    load_metric(path)
    assert sys.modules["metric"].__file__ == str(path)


def test_our_future_imports_do_not_reach_the_users_file(write: Write) -> None:
    load_metric(write(f"def f(a: int): ...\nKIND = f.__annotations__['a']\n{GOOD}"))
    assert sys.modules["metric"].KIND is int


def test_nothing_is_written_beside_the_metric(write: Write) -> None:
    path = write(GOOD)
    load_metric(path)
    assert list(path.parent.iterdir()) == [path]


def test_a_folder_with_spaces_and_other_letters_works(tmp_path: Path, write: Write) -> None:
    folder = tmp_path / "mein Projekt ü"
    folder.mkdir()
    path = write(GOOD).rename(folder / "metric.py")
    assert run(load_metric(path))[0] == 1.0


def test_a_neighbour_is_imported_and_the_folder_is_last(write: Write) -> None:
    path = write(f"import my_helper\nVALUE = my_helper.VALUE\n{GOOD}", my_helper="VALUE = 7")
    load_metric(path)
    load_metric(path)
    assert sys.modules["metric"].VALUE == 7
    assert sys.path[-1] == str(path.parent)
    assert sys.path.count(str(path.parent)) == 1


def test_a_library_hides_a_neighbour_of_its_name_with_a_warning(write: Write) -> None:
    loaded = load_metric(write(f"import json\njson.dumps(1)\n{GOOD}", json="raise SystemExit", run="x = 1"))
    [(stage, text)] = loaded.warnings
    assert stage == "Metric load"
    assert "json.py beside metric.py is hidden: the import of json (line 1)" in text


def test_a_failed_import_from_a_hidden_neighbour_says_that_it_is_hidden(write: Write) -> None:
    found = problem(write("from json import my_parser\n" + GOOD, json="def my_parser(): ..."))
    assert (found.stage, found.line) == ("Metric load", 1)
    assert "my_parser" in found.message
    assert "json.py beside metric.py is hidden" in found.message


def test_of_two_definitions_the_last_counts_with_a_warning(write: Write) -> None:
    loaded = load_metric(write(f"def score(a, b): ...\n\n{GOOD}"))
    assert run(loaded)[0] == 1.0
    assert loaded.line == 3
    assert loaded.warnings == (
        (
            "Metric function",
            "`score` is defined 2 times, in lines 1 and 3. The last one that runs counts; remove the others.",
        ),
    )


@pytest.mark.parametrize(
    ("source", "neighbours", "uses"),
    [
        ("from skynet import llm\ndef score(i, o): return llm('x')", {}, True),
        (f"import my_judge\n{GOOD}", {"my_judge": "import my_model"}, True),
        (f"import my_model\n{GOOD}", {}, True),
        (GOOD, {}, False),
    ],
)
def test_a_use_of_llm_is_found_in_the_file_and_its_neighbours(
    write: Write, source: str, neighbours: dict[str, str], uses: bool
) -> None:
    model = "from skynet import llm\ndef judge(): return llm('x')"
    assert load_metric(write(source, my_model=model, **neighbours)).calls_llm is uses


def test_a_reward_spec_is_read(write: Write) -> None:
    spec = 'REWARD_SPEC = {"weights": {"accuracy": 3, "speed": 0, "cost": 0}}\n'
    loaded = load_metric(write(spec + GOOD))
    assert loaded.reward_spec is not None
    assert loaded.reward_spec.parts == ("accuracy",)


@pytest.mark.parametrize(
    ("source", "stage", "line", "words"),
    [
        ("", "Metric file", None, "metric.py is empty"),
        (b"\xef\xbb\xbf", "Metric file", None, "metric.py is empty"),
        ("# only a comment\n\n", "Metric file", None, "metric.py is empty"),
        (b"# ok\n\nx = '\xff'\n", "Metric file", 3, "metric.py is not utf-8: it has the byte 0xff. Save it as UTF-8"),
        ("# coding: nonsense\n", "Metric file", None, "cannot be decoded: unknown encoding"),
        ("x = 'é'\n".encode("utf-16"), "Metric file", None, "Save it as UTF-8"),
        ("x = 1\ndef score(:\n", "Metric load", 2, "not valid Python: invalid syntax, in: def score(:"),
        (f"{GOOD}\x00", "Metric load", None, "not valid Python"),
        ("x = 1\nimport no_such_package_x\n", "Metric load", 2, "imports no_such_package_x, which is not installed"),
        ("import no_such_package_x.y", "Metric load", 1, "pip install no_such_package_x"),
        ("import json.no_such", "Metric load", 1, "'json' is not|json has no such module"),
        ("from . import helper", "Metric load", 1, "by its plain name: import helper"),
        ("from skynet import lmm", "Metric load", 1, "cannot import name 'lmm'"),
        ("x = 1\n\n1 / 0\n", "Metric load", 3, "raised while it was loaded: ZeroDivisionError: division by zero"),
        ("import sys\nsys.exit(3)", "Metric load", 2, "called exit() while it was loaded (SystemExit: 3)"),
        ("raise KeyboardInterrupt", "Metric load", 1, "KeyboardInterrupt"),
        ("from skynet import llm\nllm('x')", "Metric load", 2, "outside a metric"),
        ("def scores(a, b): ...", "Metric function", None, "no function `score`. Did you mean 'scores'"),
        ("x = 1\nscore = 0.5", "Metric function", 2, "`score` is not a function: it is 0.5"),
        ("\nclass score: ...", "Metric function", 2, "`score` is a class"),
        ("def score(a): ...", "Metric function", 1, "takes 1 by position"),
        (f"{GOOD}REWARD_SPEC = {{}}", "Reward spec", 3, "REWARD_SPEC has no weights"),
    ],
)
def test_a_fault_is_told_by_stage_and_line(
    write: Write, source: str | bytes, stage: str, line: int | None, words: str
) -> None:
    found = problem(write(source))
    assert (found.stage, found.line) == (stage, line)
    assert any(part in found.message for part in words.split("|"))
    assert "metric" not in sys.modules or stage in ("Metric function", "Reward spec")


def test_a_known_package_is_told_by_its_name_to_install(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cv2", None)  # as if it were not installed
    sys.modules.pop("cv2")
    assert "pip install opencv-python" in problem(write("import cv2")).message


def test_an_error_raised_while_loading_keeps_the_users_frames(write: Write) -> None:
    path = write("import my_helper\nmy_helper.f()", my_helper="def f():\n    raise ValueError('deep')")
    found = problem(path)
    assert found.line == 2
    assert "my_helper.py" in found.traceback
    assert "ValueError: deep" in found.traceback
    assert "skynet/metric" not in found.traceback


def test_a_fault_of_syntax_in_a_neighbour_names_the_neighbour(write: Write) -> None:
    found = problem(write("x = 1\nimport my_helper", my_helper="def f(:"))
    assert (found.stage, found.line) == ("Metric load", 2)
    assert "my_helper.py, which is not valid Python" in found.message


def test_an_error_whose_own_text_fails_is_told_all_the_same(write: Write) -> None:
    source = "class E(Exception):\n    def __str__(self): raise RuntimeError\nraise E"
    assert "E: " in problem(write(source)).message


@pytest.mark.parametrize("name", ["missing.py", "."])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str) -> None:
    found = problem(tmp_path / name)
    assert found.stage == "Metric file"
    assert str(tmp_path) in found.message


def test_a_function_is_taken_as_a_metric() -> None:
    def judge(input: Any, output: Any) -> Any:
        return 0.5, {"feedback": "OK"}

    loaded = load_function(judge)
    assert run(loaded) == (0.5, {"feedback": "OK"})
    assert (loaded.file, loaded.line, loaded.files) == (__file__, judge.__code__.co_firstlineno, (__file__,))


def test_a_function_outside_the_contract_is_a_problem_of_the_function_stage() -> None:
    with pytest.raises(LoadProblem, match="takes 0 by position") as caught:
        load_function(lambda: None)
    assert caught.value.stage == "Metric function"
