from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import pytest

from skynet.metric.source import binding_lines, imported_names, is_hidden, neighbour, uses_llm


def tree(source: str) -> ast.Module:
    return ast.parse(textwrap.dedent(source))


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("def score(): ...", [1]),
        ("async def score(): ...", [1]),
        ("score = 1\nscore: int = 2\nscore: int", [1, 2]),
        ("class score: ...", [1]),
        ("from x import y as score", [1]),
        ("if x:\n def score(): ...\nelse:\n def score(): ...", [2, 4]),
        ("try:\n from x import score\nexcept ImportError:\n def score(): ...\nfinally:\n score = 1", [2, 4, 6]),
        ("def score(): ...\nscore = cached(score)", [1]),
        ("def other():\n score = 1", []),
        ("class A:\n def score(self): ...", []),
        ("a, score = 1, 2", [1]),
    ],
)
def test_definitions_at_module_level_are_found(source: str, lines: list[int]) -> None:
    assert binding_lines(tree(source), "score") == lines


@pytest.mark.parametrize(
    ("source", "uses"),
    [
        ("from skynet import llm\nllm('x')", True),
        ("from skynet import llm as ask\ndef f(): return ask('x')", True),
        ("from skynet import *\nllm('x')", True),
        ("import skynet\nskynet.llm('x')", True),
        ("import skynet as s\ns.llm('x')", True),
        ("def f():\n from skynet import llm\n return llm('x')", True),
        ("from skynet import llm", False),
        ("from skynet import reward\nreward({}, 1, '')", False),
        ("from other import llm\nllm('x')", False),
        ("# skynet.llm()", False),
    ],
)
def test_a_use_of_llm_is_found_under_any_name(source: str, uses: bool) -> None:
    assert uses_llm(tree(source)) is uses


def test_imports_are_named_by_their_top_level_module_and_first_line() -> None:
    source = "import a.b\nfrom c.d import e\nfrom . import f\ndef g():\n import h, a"
    assert imported_names(tree(source)) == {"a": 1, "c": 2, "h": 5}


def test_a_neighbour_is_a_file_or_a_package(tmp_path: Path) -> None:
    (tmp_path / "one.py").touch()
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "__init__.py").touch()
    assert neighbour("one", tmp_path) == tmp_path / "one.py"
    assert neighbour("two", tmp_path) == tmp_path / "two" / "__init__.py"
    assert neighbour("three", tmp_path) is None


@pytest.mark.parametrize(("name", "hidden"), [("json", True), ("sys", True), ("pytest", True), ("my_helper", False)])
def test_the_library_hides_a_neighbour_of_its_name(name: str, hidden: bool, tmp_path: Path) -> None:
    assert is_hidden(name, tmp_path) is hidden
