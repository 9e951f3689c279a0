"""Loading a metric: run metric.py or take a function, and find `score`, its signature and REWARD_SPEC."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skynet.errors import SkynetError, nearest
from skynet.metric.function import definition, function_globals, function_uses_llm
from skynet.metric.module import parse_source, read_source, run_file
from skynet.metric.problem import LoadProblem, Stage
from skynet.metric.reward_spec import RewardError, RewardSpec, check_reward_spec
from skynet.metric.signature import CallStyle, call_style
from skynet.metric.source import binding_lines, imported_names, is_hidden, neighbour, uses_llm

Turn = Callable[[Any], Any]  # makes a function of what else may be called `score`; raises SkynetError

_EXAMPLE = 'def score(input, output, expected=None): ... return 1.0, {"feedback": "Correct."}'


@dataclass(frozen=True, slots=True)
class LoadedMetric:
    """A metric ready to be called: `style.call(score, input, output, expected, trace)`.

    `warnings` are pairs of stage and text. `file` and `line` say where `score` is defined; `files` are the user's.
    """

    score: Callable[..., Any]
    style: CallStyle
    reward_spec: RewardSpec | None
    warnings: tuple[tuple[Stage, str], ...]
    calls_llm: bool
    file: str | None
    line: int | None
    files: tuple[str, ...]


def _as_it_is(score: Any) -> Any:
    return score


def load_metric(path: str | Path, turn: Turn = _as_it_is) -> LoadedMetric:
    """Run metric.py as the module `metric`, its folder being the last entry of sys.path. Raises LoadProblem."""
    path = Path(path).absolute()
    tree = parse_source(read_source(path), path)
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    hidden = _hidden_neighbours(tree, path)
    module = run_file(path, "metric", hidden)
    lines = binding_lines(tree, "score")
    line = lines[-1] if lines else None
    if not hasattr(module, "score"):
        hint = nearest("score", [name for name, value in vars(module).items() if callable(value)])
        raise LoadProblem("Metric function", f"{path.name} has no function `score`.{hint} Add one: {_EXAMPLE}")
    score, style = _callable(module.score, turn, line)
    spec_lines = binding_lines(tree, "REWARD_SPEC")
    spec = _reward_spec(vars(module), spec_lines[-1] if spec_lines else None)
    warnings: list[tuple[Stage, str]] = [("Metric load", text) for text in hidden]
    warnings += [("Metric function", text) for text in _redefined(lines)]
    return LoadedMetric(
        score, style, spec, tuple(warnings), _calls_llm(tree, path), str(path), line, (str(path),)
    )


def load_function(function: object, turn: Turn = _as_it_is) -> LoadedMetric:
    """Take a function given from Python as the metric. Raises LoadProblem."""
    file, line = definition(function)
    score, style = _callable(function, turn, line)
    spec = _reward_spec(function_globals(function), None)
    files = () if file is None else (file,)
    return LoadedMetric(score, style, spec, (), function_uses_llm(function), file, line, files)


def _callable(given: Any, turn: Turn, line: int | None) -> tuple[Callable[..., Any], CallStyle]:
    try:
        score = turn(given)
        return score, call_style(score)
    except SkynetError as fault:
        raise LoadProblem("Metric function", str(fault), line) from fault


def _reward_spec(names: dict[str, Any], line: int | None) -> RewardSpec | None:
    if "REWARD_SPEC" not in names:
        return None
    try:
        return check_reward_spec(names["REWARD_SPEC"])
    except RewardError as fault:
        raise LoadProblem("Reward spec", str(fault), line) from fault


def _redefined(lines: list[int]) -> list[str]:
    if len(lines) < 2:
        return []
    places = f"lines {', '.join(map(str, lines[:-1]))} and {lines[-1]}"
    return [f"`score` is defined {len(lines)} times, in {places}. The last one that runs counts; remove the others."]


def _hidden_neighbours(tree: ast.Module, path: Path) -> list[str]:
    return [
        f"{file.relative_to(path.parent)} beside {path.name} is hidden: the import of {name} (line {line}) gives the "
        f"library's module. Rename the file."
        for name, line in imported_names(tree).items()
        if (file := neighbour(name, path.parent)) is not None and is_hidden(name, path.parent)
    ]


def _calls_llm(tree: ast.Module, path: Path) -> bool:
    """Whether metric.py, or a file beside it that it imports, uses `llm`."""
    seen = {path}
    waiting = [tree]
    while waiting:
        current = waiting.pop()
        if uses_llm(current):
            return True
        for name in imported_names(current):
            file = neighbour(name, path.parent)
            if file is not None and file not in seen and not is_hidden(name, path.parent):
                seen.add(file)
                waiting += _tree_of(file)
    return False


def _tree_of(file: Path) -> list[ast.Module]:
    """Return the tree of a neighbour; none where it cannot be parsed, which the import told if it was reached."""
    try:
        return [ast.parse(file.read_bytes(), filename=str(file))]
    except (OSError, SyntaxError, ValueError):
        return []
