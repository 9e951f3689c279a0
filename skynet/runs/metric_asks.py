"""Whether a metric may ask the metric model, told from its source alone. What cannot be told counts as yes."""

from __future__ import annotations

import ast
import functools
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions
from inspect import getclosurevars
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from skynet.metric.source import imported_names, is_hidden
from skynet.runs.function_mark import codes_of, imported_inside
from skynet.scorers import SCORERS
from skynet.scorers.plugins import PACKAGE
from skynet.scorers.typed_check import JUDGE, stored_metrics
from skynet.spec.jobs import METRIC
from skynet.spec.metric_file import ENDINGS, MetricFileError, parse_metric_file

# What of Skynet asks a model, or hides what is asked for.
_ASKING = frozenset({"llm", "judge", "judging", "adapt", "check", "evaluate", "optimize", "*"})
_HIDING = frozenset({"__import__", "eval", "exec", "getattr", "globals", "vars"})
_LOADERS = frozenset({"importlib", "runpy", "imp", "pkgutil"})
_QUIET_SKYNET = frozenset({*SCORERS, "observation", "reward", "service_cost", "unmeasured", "verdict"})
_PLAIN = (str, bytes, int, float, complex, type(None), re.Pattern, Path, BuiltinFunctionType)


def may_ask(source: Path | Callable[..., Any], files: Iterable[Path]) -> bool:
    """Whether the metric may call a model; `files` are those of the project that it is made of."""
    if not isinstance(source, Path):
        return _function_may_ask(source)
    return any(_yaml_may_ask(one) if one.suffix in ENDINGS else _file_may_ask(one, source.parent) for one in files)


def _yaml_may_ask(path: Path) -> bool:
    try:
        checks = parse_metric_file(path.read_bytes(), path.name)[0].checks.values()
    except (OSError, MetricFileError):
        return True
    quiet = {METRIC, *SCORERS, *stored_metrics(path.parent)}  # a metric's file is one of the files
    return any(one.type == JUDGE or one.type.replace("-", "_") not in quiet for one in checks)


def _file_may_ask(path: Path, folder: Path) -> bool:
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return True
    modules, names = imported_names(tree), set(_names_in(tree))
    if "skynet" in modules and names & _ASKING:
        return True
    if names & _HIDING:
        return True
    return any(_module_may_ask(name, folder) for name in modules if name != "skynet")


def _names_in(tree: ast.Module) -> Iterable[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from (part for alias in node.names for part in alias.name.split("."))
            yield from (getattr(node, "module", None) or "").split(".")


def _module_may_ask(name: str, folder: Path | None = None) -> bool:
    """Whether an imported module may ask: one of the standard library does not, nor does a file beside the metric's,
    which is looked at by itself, nor a package that does not depend on Skynet."""
    if name in sys.stdlib_module_names:
        return name in _LOADERS
    if folder is not None and not is_hidden(name, folder):
        return not ((folder / f"{name}.py").is_file() or (folder / name).is_dir())
    found = _packages().get(name, [])
    return name == "dspy" or not found or any(_needs_skynet(one, set()) for one in found)


@functools.cache
def _packages() -> Mapping[str, list[str]]:
    return packages_distributions()


def _needs_skynet(name: str, seen: set[str]) -> bool:
    """Whether a distribution is Skynet, or needs it, directly or through another."""
    plain = re.sub(r"[-_.]+", "-", name).lower()
    if plain in seen:
        return False
    seen.add(plain)
    if plain == PACKAGE:
        return True
    try:
        needed = distribution(name).requires or []
    except PackageNotFoundError:  # an extra that is not installed
        return False
    return any(_needs_skynet(re.split(r"[^A-Za-z0-9._-]", text, maxsplit=1)[0], seen) for text in needed)


def _function_may_ask(function: Any) -> bool:
    seen: set[int] = set()
    waiting: list[Any] = [function]
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        reached = _reached(value)
        if reached is None:
            return True
        waiting += reached
    return False


def _reached(value: Any) -> list[Any] | None:
    """Return what a value of the metric's leads to; None where it may ask, or nobody can tell."""
    if isinstance(value, _PLAIN) or (isinstance(value, type) and value.__module__ == "builtins"):
        return []
    if isinstance(value, dict):
        return [*value, *value.values()]
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)
    if isinstance(value, functools.partial):
        return [value.func, *value.args, *value.keywords.values()]
    home = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
    top = str(home).partition(".")[0]
    if top == "skynet":
        return [] if isinstance(value, ModuleType) or getattr(value, "__name__", "") in _QUIET_SKYNET else None
    if isinstance(value, ModuleType) or top in _packages() or top in sys.stdlib_module_names:
        return None if _module_may_ask(top) else []
    return _reached_by_code(value) if isinstance(value, FunctionType) else None


def _reached_by_code(function: FunctionType) -> list[Any] | None:
    codes = list(codes_of(function.__code__))
    names = {name for code in codes for name in code.co_names}
    if names & (_HIDING | _ASKING | {"import_module"}):
        return None
    known = {**function.__globals__, **getclosurevars(function).nonlocals}
    inside = {module.partition(".")[0] for code in codes for module in imported_inside(code)}
    if "skynet" in inside or any(_module_may_ask(name) for name in inside):
        return None
    read = [known[name] for name in names | set(function.__code__.co_freevars) if name in known]
    return [*read, *(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]

