from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import skynet
from skynet.evaluation.source_files import with_neighbours
from skynet.runs.metric_asks import may_ask

SCORE = "def score(input, output, expected=None):\n    return 1.0, {'feedback': 'x'}\n"


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder / next(iter(files))


@pytest.mark.parametrize(
    "files",
    [
        {"metric.py": SCORE},
        {"metric.py": "import re, json\n" + SCORE},
        {"metric.py": "import helper\n" + SCORE, "helper.py": "x = 1\n"},
        {"metric.py": "import numpy\n" + SCORE},
        {"metric.py": "from skynet import unmeasured, scorers\n" + SCORE},
        {"metric.py": "import skynet\nmine = skynet.reward\n" + SCORE},
        {"metric.yaml": "checks: {a: {type: exact-match}, b: {type: f1}}\n"},
        {"metric.yaml": "checks: {a: {type: metric, path: mine.py}}\n", "mine.py": SCORE},
    ],
    ids=range(8),
)
def test_a_file_that_cannot_ask_is_known(tmp_path: Path, files: dict[str, str]) -> None:
    path = write(tmp_path, files)
    assert not may_ask(path, with_neighbours(path))


@pytest.mark.parametrize(
    "files",
    [
        {"metric.py": "from skynet import llm\n" + SCORE},
        {"metric.py": "from skynet import llm as ask\n" + SCORE},
        {"metric.py": "import skynet as s\nask = s.llm\n" + SCORE},
        {"metric.py": "from skynet.scorers import judge\n" + SCORE},
        {"metric.py": "from skynet import *\n" + SCORE},
        {"metric.py": "import helper\n" + SCORE, "helper.py": "from skynet import llm\n"},
        {"metric.py": "from parts import one\n" + SCORE, "parts/one.py": "import skynet\nskynet.llm\n"},
        {"metric.py": "import importlib\n" + SCORE},
        {"metric.py": "exec(open('other.py').read())\n" + SCORE},
        {"metric.py": "import dspy\n" + SCORE},
        {"metric.py": "import a_package_that_nobody_has\n" + SCORE},
        {"metric.py": "def score(:\n"},
        {"metric.yaml": "checks: {a: {type: judge, prompt: x}}\n"},
        {"metric.yaml": "checks: {a: {type: somebodys-plugin}}\n"},
        {"metric.yaml": "checks: {a: {type: metric, path: mine.py}}\n", "mine.py": "from skynet import llm\n" + SCORE},
        {"metric.yaml": "checks: [\n"},
    ],
    ids=range(16),
)
def test_a_file_that_may_ask_counts_and_so_does_one_that_cannot_be_told(tmp_path: Path, files: dict[str, str]) -> None:
    path = write(tmp_path, files)
    assert may_ask(path, with_neighbours(path))


WEIGHTS: dict[str, Any] = {"a": 0.5, "b": [1, 2]}


def quiet(input: Any, output: Any, expected: Any = None) -> float:
    return math.sqrt(WEIGHTS["a"]) * helped(output)


def helped(output: Any) -> float:
    return float(len(str(output)))


def imports_inside(input: Any, output: Any, expected: Any = None) -> float:
    from skynet import llm

    return float(llm("x", str(output)))


def imports_a_file_of_the_project(input: Any, output: Any, expected: Any = None) -> float:
    from helper_llm import ask  # type: ignore[import-not-found]  # there is none; a project may have it

    return float(ask(output))


def imports_quiet_ones(input: Any, output: Any, expected: Any = None) -> float:
    import json

    import numpy as np

    return float(np.sum(json.loads(output)))


def by_module(input: Any, output: Any, expected: Any = None) -> float:
    return float(skynet.llm("x", str(output)))


def through_another(input: Any, output: Any, expected: Any = None) -> float:
    return by_module(input, output)


class Thing:
    def grade(self, output: Any) -> float:
        return by_module(None, output)


THING = Thing()


def through_an_object(input: Any, output: Any, expected: Any = None) -> float:
    return THING.grade(output)


def given(inner: Callable[..., float]) -> Callable[..., float]:
    def score(input: Any, output: Any, expected: Any = None) -> float:
        return inner(input, output)

    return score


@pytest.mark.parametrize(
    ("function", "asks"),
    [
        (quiet, False),
        (given(quiet), False),
        (imports_inside, True),
        (imports_a_file_of_the_project, True),
        (imports_quiet_ones, False),
        (by_module, True),
        (through_another, True),
        (through_an_object, True),
        (given(by_module), True),
        (THING.grade, True),
    ],
)
def test_a_function_is_followed_to_what_it_reads(function: Callable[..., float], asks: bool) -> None:
    assert may_ask(function, []) is asks
