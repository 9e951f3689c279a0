"""What of a function given from Python counts: source and values, by name, the same in every process."""

from __future__ import annotations

import copy
import functools
import json
import os
import re
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skynet
from skynet.runs.function_mark import function_mark

NOTEBOOK = """
import functools
import json
import re
from enum import Enum

import skynet

BONUS = {bonus}
WORDS = {{"good", "bad", "fine", "poor"}}
PATTERN = re.compile("a+")


class Mood(Enum):
    GOOD = 1


class Judge:
    def __init__(self, limit):
        self.limit = limit

    def __call__(self, input, output):
        return float(len(output) {compare} self.limit), {{"feedback": "x"}}


def helper(text):
    return [word for word in text.split() if word in WORDS][:{most}]


def score(input, output, expected=None):
    found = [BONUS for word in helper(output) if PATTERN.match(word) and Mood.GOOD]
    return float(len(found)), {{"feedback": json.dumps(found)}}


data = {data}
unread = {data}
judge = Judge(3)
def brief(input, output):
    return float(len(output) < LIMIT), {{"feedback": "x"}}


LIMIT = {limit}
NEAR = "absolute difference"
composed = skynet.compose(
    [
        ("brief", brief, {weight}),
        ("right", skynet.scorers.as_metric(skynet.scorers.number_check, "a", operation=NEAR, epsilon={tolerance}), 1),
    ],
    view="weighted_mean",
)
partly = functools.partial(score, expected={data})
method = judge.__call__
"""
SAME = {"bonus": 1, "compare": "<", "most": 2, "data": 1, "limit": 9, "weight": 1, "tolerance": 0.1}


def marks(name: str, tmp_path: Path, **changed: Any) -> dict[str, str]:
    """Return the marks of a function of the notebook, made in a process of its own."""
    script = tmp_path / "notebook.py"
    script.write_text(
        NOTEBOOK.format(**(SAME | changed)) + "import sys\nfrom skynet.runs.function_mark import function_mark\n"
        f"print(json.dumps(function_mark({name})))\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    found: dict[str, str] = json.loads(done.stdout)
    return found


def changed(before: dict[str, str], after: dict[str, str]) -> set[str]:
    return {name for name in {*before, *after} if before.get(name) != after.get(name)}


@pytest.mark.parametrize("name", ["score", "judge", "partly", "method", "composed"])
def test_another_process_finds_the_same_marks(name: str, tmp_path: Path) -> None:
    assert marks(name, tmp_path) == marks(name, tmp_path)


@pytest.mark.parametrize(
    ("name", "change", "named"),
    [
        ("score", {"bonus": 2}, {"BONUS"}),
        ("score", {"most": 3}, {"helper"}),
        ("score", {"data": 2}, set()),
        ("judge", {"compare": ">"}, {"def"}),
        ("partly", {"data": 2}, {"expected"}),
        ("method", {"compare": ">"}, {"def", "self"}),
        ("composed", {"limit": 8}, {"parts", "reduced"}),
        ("composed", {"weight": 2}, {"parts", "reduced"}),
        ("composed", {"tolerance": 0.2}, {"parts", "reduced"}),
    ],
)
def test_what_changed_is_named(name: str, change: dict[str, Any], named: set[str], tmp_path: Path) -> None:
    assert changed(marks(name, tmp_path), marks(name, tmp_path, **change)) == named


def judged(limit: int) -> Callable[..., Any]:
    later: list[Any] = []

    def score(input: Any, output: Any) -> Any:
        return float(len(output) < limit), {"feedback": str(later)}

    later.append(score)
    return score


def test_a_closure_that_leads_back_to_the_function_ends() -> None:
    assert function_mark(judged(3)) == function_mark(judged(3))
    assert changed(function_mark(judged(3)), function_mark(judged(4))) == {"limit"}


def test_an_object_without_a_repr_of_its_own_counts_without_its_address() -> None:
    def scorer(held: object) -> Callable[..., Any]:
        return lambda input, output: (1.0, {"feedback": str(held)})

    assert function_mark(scorer(object())) == function_mark(scorer(object()))


def test_positional_arguments_of_a_partial_count() -> None:
    def score(weight: float, input: Any, output: Any) -> Any:
        return weight, {"feedback": "x"}

    one, two = (function_mark(functools.partial(score, weight)) for weight in (0.5, 0.75))
    assert changed(one, two) == {"argument 1"}


def typed(line: str) -> Callable[..., Any]:
    """Return a function that has no source, as one that was typed into a prompt."""
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(f"def score(input, output):\n    return 1.0, {{'feedback': [{line} for word in output]}}", names)
    score: Callable[..., Any] = names["score"]
    return score


@pytest.mark.parametrize("line", ["word.lower()", "word.upper(1)", "(lambda: word)()"])
def test_a_function_without_source_is_what_it_was_compiled_to(line: str) -> None:
    assert function_mark(typed("word.upper()")) == function_mark(typed("word.upper()"))
    assert function_mark(typed(line)) != function_mark(typed("word.upper()"))


class Slotted:
    __slots__ = ("limit",)

    def __init__(self, limit: int) -> None:
        self.limit = limit


def reading(value: Any) -> Callable[..., Any]:
    def score(input: Any, output: Any) -> Any:
        return float(value is output), {"feedback": "x"}

    return score


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (np.zeros(5000), np.concatenate([np.zeros(2500), np.ones(1), np.zeros(2499)])),
        (re.compile("a" * 300 + "b"), re.compile("a" * 300 + "c")),
        (deque([np.arange(2000)]), deque([np.arange(2000)[::-1]])),
        (Slotted(3), Slotted(4)),
    ],
    ids=["array", "pattern", "within", "slots"],
)
def test_values_count_whole_where_their_repr_is_shortened(one: Any, other: Any) -> None:
    assert function_mark(reading(one)) == function_mark(reading(copy.deepcopy(one)))
    assert changed(function_mark(reading(one)), function_mark(reading(other))) == {"value"}


class Closed:
    def __init__(self, value: int) -> None:
        self.value = value

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("it is not to be taken apart")


Closed.__module__ = "numpy"  # as one of an installed package


def test_a_value_that_cannot_be_read_equals_no_other() -> None:
    held = Closed(1)
    assert function_mark(reading(held)) == function_mark(reading(held))
    assert changed(function_mark(reading(held)), function_mark(reading(Closed(1)))) == {"value"}


INSTALLED_VALUES = """
import json, re, sys, threading
from collections import deque
from types import SimpleNamespace
import numpy as np
from skynet.runs.function_mark import function_mark

names = {"ab", "cd", "ef", "gh"}
held = [np.arange(3000), SimpleNamespace(names=names, lock=threading.Lock()), deque([frozenset(names)]),
        {np.str_("x"), np.str_("y"), np.str_("z")}, re.compile("a+"), range(3), object()]
def score(input, output):
    return float(held is output)
print(json.dumps(function_mark(score)))
"""


def test_values_taken_apart_are_the_same_in_every_process(tmp_path: Path) -> None:
    (tmp_path / "values.py").write_text(INSTALLED_VALUES)
    told = {
        subprocess.run(
            [sys.executable, tmp_path / "values.py"], capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
        ).stdout
        for seed in range(4)
    }  # fmt: skip
    assert len(told) == 1


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("def score(a, b):\n    from helper_words import WORDS\n    return 1.0\n", "import helper_words"),
        ("import helper_words\ndef score(a, b):\n    return helper_words.WORDS\n", "helper_words"),
    ],
    ids=["inside", "module"],
)
def test_the_files_of_a_module_of_the_users_count(text: str, named: str, tmp_path: Path) -> None:
    (tmp_path / "metric_file.py").write_text(text)
    script = (
        "import json, metric_file\nfrom skynet.runs.function_mark import function_mark\n"
        "print(json.dumps(function_mark(metric_file.score)))"
    )
    found = []
    for word in ("good", "bad"):
        (tmp_path / "helper_words.py").write_text("import deeper\nWORDS = 1\n")
        (tmp_path / "deeper.py").write_text(f"word = {word!r}\n")
        env = {**os.environ, "PYTHONPATH": f"{tmp_path}:{Path(skynet.__file__).parents[1]}"}
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=env)
        found.append(json.loads(done.stdout))
    assert changed(*found) == {named}


def test_a_builtin_has_a_mark() -> None:
    assert function_mark(len) != function_mark(sorted)
