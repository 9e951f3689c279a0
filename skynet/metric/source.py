"""What the text of metric.py tells before it runs: where names are bound, whether it asks a model, what it imports."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from importlib.machinery import PathFinder
from pathlib import Path

_BLOCKS = (ast.If, ast.Try, ast.TryStar, ast.With, ast.For, ast.While)  # their bodies bind names of the module


def binding_lines(tree: ast.Module, name: str) -> list[int]:
    """Return the lines at module level that define `name`; wrapping it (`score = cached(score)`) is no definition."""
    return [statement.lineno for statement in _module_level(tree.body) if _binds(statement, name)]


def uses_llm(tree: ast.Module) -> bool:
    """Whether the file uses skynet's `llm`, under whatever name it imports it."""
    functions, modules = _skynet_names(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in functions:
            return True
        owner = node.value if isinstance(node, ast.Attribute) and node.attr == "llm" else None
        if isinstance(owner, ast.Name) and owner.id in modules:
            return True
    return False


def imported_names(tree: ast.Module) -> dict[str, int]:
    """Return the top-level modules that the file imports anywhere, each with its first line."""
    names: dict[str, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                names.setdefault(alias.name.partition(".")[0], node.lineno)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.setdefault(node.module.partition(".")[0], node.lineno)
    return names


def neighbour(name: str, folder: Path) -> Path | None:
    """Return the file in `folder` that an import of `name` would read if nothing hid it, or None."""
    for candidate in (folder / f"{name}.py", folder / name / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


def is_hidden(name: str, folder: Path) -> bool:
    """Whether a module of the standard library or an installed package takes `name` before `folder` is searched."""
    if name in sys.stdlib_module_names:
        return True
    found = PathFinder.find_spec(name, [entry for entry in sys.path if Path(entry or ".").absolute() != folder])
    return found is not None and found.origin is not None


def _module_level(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        if not isinstance(statement, _BLOCKS):
            yield statement
            continue
        for part in ("body", "handlers", "orelse", "finalbody"):  # as they stand in the file
            for inner in getattr(statement, part, []):
                yield from _module_level(inner.body if isinstance(inner, ast.ExceptHandler) else [inner])


def _binds(statement: ast.stmt, name: str) -> bool:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return statement.name == name
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return any((alias.asname or alias.name) == name for alias in statement.names)
    if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is None:
        return False
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    bound = any(isinstance(node, ast.Name) and node.id == name for target in targets for node in ast.walk(target))
    return bound and not any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(statement.value))


def _skynet_names(tree: ast.Module) -> tuple[set[str], set[str]]:
    """Return the names that mean `llm`, and the names that mean the skynet module."""
    functions: set[str] = set()
    modules: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules.update(alias.asname or "skynet" for alias in node.names if alias.name.partition(".")[0] == "skynet")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "skynet":
            functions.update(alias.asname or "llm" for alias in node.names if alias.name in ("llm", "*"))
    return functions, modules
