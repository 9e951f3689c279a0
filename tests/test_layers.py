from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from tests.layers import LEVEL_OF, LEVELS, MAY_IMPORT, violations

ROOT = Path(__file__).parent.parent


def tree(root: Path, files: dict[str, str]) -> Path:
    """Write a made-up source tree in which every room exists."""
    for room in (*LEVEL_OF, "engine"):
        files = {f"skynet/{room}.py": "", **files}
    for name, source in {"skynet/__init__.py": "", "engines/__init__.py": "", **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    return root


def test_the_source_tree_keeps_its_layers() -> None:
    assert violations(ROOT) == []


def test_a_tree_with_one_import_down_each_level_is_clean(tmp_path: Path) -> None:
    tops = [sorted(rooms)[0] for rooms in LEVELS]
    files = {f"skynet/{above}.py": f"import skynet.{below}\n" for below, above in pairwise(tops)}
    assert violations(tree(tmp_path, files)) == []


@pytest.mark.parametrize(
    "source",
    [
        "import skynet.runs",
        "import skynet.runs.store as store",
        "from skynet.runs import store",
        "from skynet import runs",
        "from . import runs",
        "from .runs import store",
        "def late():\n    from skynet.runs import store",
        "if TYPE_CHECKING:\n    from skynet.runs import store",
        "import importlib\nimportlib.import_module('skynet.runs')",
        "__import__('skynet.runs.store')",
    ],
)
def test_an_import_of_a_higher_room_is_found_in_every_form(tmp_path: Path, source: str) -> None:
    line = source.count("\n") + 1
    [found] = violations(tree(tmp_path, {"skynet/summary.py": source}))
    assert found.startswith(f"skynet/summary.py:{line}: summary may not import skynet.runs")


@pytest.mark.parametrize(
    ("room", "source"),
    [
        ("workers", "from skynet.models import gateway"),
        ("target", "from skynet.typed import protocol"),
        ("errors", "from skynet.spec import Spec"),
        ("metric", "from skynet.scorers import exact"),
        ("scorers", "from skynet.engine import Engine"),
        ("cli", "from skynet.engine import Engine"),
        ("engine", "from skynet.spec import Spec"),
        ("artifact", "from skynet.engine import Version"),
        ("runs", "from skynet import llm"),
        ("evaluation", "import skynet"),
    ],
)
def test_an_import_against_the_layers_is_one_violation(tmp_path: Path, room: str, source: str) -> None:
    [found] = violations(tree(tmp_path, {f"skynet/{room}.py": source}))
    assert found.startswith(f"skynet/{room}.py:1: {room} may not import skynet")


def test_a_relative_import_inside_a_room_is_resolved_against_its_folder(tmp_path: Path) -> None:
    files = {"skynet/data/readers.py": "from . import runs\nfrom .runs import x\nfrom ..runs import y\n"}
    [found] = violations(tree(tmp_path, files))
    assert found == "skynet/data/readers.py:3: data may not import skynet.runs"


def test_the_facade_may_not_import_the_command_line(tmp_path: Path) -> None:
    files = {"skynet/__init__.py": "from skynet.metric import helpers\nfrom skynet.cli import main\n"}
    assert violations(tree(tmp_path, files)) == ["skynet/__init__.py:2: skynet may not import skynet.cli"]


def test_a_room_without_a_level_is_a_violation(tmp_path: Path) -> None:
    [found] = violations(tree(tmp_path, {"skynet/helpers.py": ""}))
    assert found.startswith("skynet/helpers.py:1: helpers is in no layer")


@pytest.mark.parametrize("source", ["import skynet_engines.gepa", "from engines import gepa"])
def test_no_room_imports_an_engine(tmp_path: Path, source: str) -> None:
    [found] = violations(tree(tmp_path, {"skynet/runs.py": source}))
    assert "entry point" in found


@pytest.mark.parametrize("source", ["from skynet.engine import Engine", "from skynet import engine", "from . import x"])
def test_an_engine_may_import_the_engine_interface_and_its_neighbours(tmp_path: Path, source: str) -> None:
    assert violations(tree(tmp_path, {"engines/gepa.py": source})) == []


@pytest.mark.parametrize(
    "source", ["import skynet.artifact", "from skynet import llm", "import skynet", "from skynet.runs import x"]
)
def test_an_engine_may_import_nothing_else_of_skynet(tmp_path: Path, source: str) -> None:
    [found] = violations(tree(tmp_path, {"engines/gepa.py": source}))
    assert found.startswith("engines/gepa.py:1: an engine may import only skynet.engine")


@pytest.mark.parametrize("source", ["from skynet_engines import dspy", "import engines.dspy"])
def test_an_engine_imports_its_neighbours_relatively(tmp_path: Path, source: str) -> None:
    [found] = violations(tree(tmp_path, {"engines/gepa.py": source}))
    assert "relative import" in found


def test_what_a_room_may_import_never_goes_both_ways() -> None:
    both = [(a, b) for a, below in MAY_IMPORT.items() for b in below if a in MAY_IMPORT.get(b, set())]
    assert both == []
