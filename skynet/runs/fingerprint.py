"""What a run's results depend on: a changed part means that its journal may not be used without saying so."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import version
from os.path import relpath
from pathlib import Path
from typing import Any

from skynet.data.case import Case, content_hash
from skynet.evaluation.project import Project
from skynet.runs.engines import package_of
from skynet.scorers.typed_check import referred_files
from skynet.spec.metric_file import ENDINGS

DISTRIBUTION = "skynet-optimizer"


def fingerprint(project: Project) -> dict[str, Any]:
    """Return one hash or plain value for each part that results depend on.

    Concurrency, prices, budgets and timeouts are not in it: changing them changes no result.
    """
    spec = project.spec
    return {
        "skynet": version(DISTRIBUTION),
        "objective": content_hash([spec.objective, spec.background]),
        "start": None if project.start is None else project.start.id,
        "data": data_fingerprint(project),
        "target": target_fingerprint(project),
        "metric": code_fingerprint(project.metric_source),
        "models": {role: model_mark(project, role) for role in ("task", "reflection", "metric")},
        "engine": content_hash([spec.engine.model_dump(mode="json"), package_of(spec.engine.name)]),
        "evaluation": {"repeats": spec.evaluation.repeats, "seed": project.seed},
        "scores": {"maximum": spec.metric.maximum, "failure_score": spec.metric.failure_score},
        "limits": content_hash(spec.limits.model_dump(mode="json")),
    }


def changed_parts(stored: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return the names of the parts that differ, `models.task` where it is a model."""
    changed: list[str] = []
    for name in sorted({*stored, *now}):
        before, after = stored.get(name), now.get(name)
        if isinstance(before, dict) and isinstance(after, dict):
            changed += [f"{name}.{inner}" for inner in changed_parts(before, after)]
        elif before != after:
            changed.append(name)
    return changed


def data_fingerprint(project: Project) -> str:
    """Return the hash of all cases in their splits."""
    data = project.dataset
    splits: tuple[Iterable[Case], ...] = (data.train, data.val, data.test)
    return content_hash([[f"{case.id}={case.content_hash}" for case in split] for split in splits])


def evaluation_scope(parts: dict[str, Any]) -> str:
    """Return the hash of what an evaluation depends on besides version, case and repetition."""
    names = ("skynet", "target", "metric", "models", "limits", "evaluation")
    return content_hash([parts[name] for name in names])[:16]


def target_fingerprint(project: Project) -> str:
    """Return the hash of the target's settings and code."""
    spec = project.spec.target
    described = spec.model_dump(mode="json", exclude={"timeout"})
    source = project.target_source
    entry = project.spec.artifact.entry if spec.kind == "code" else None
    files = [project.spec.resolve(argument) for argument in spec.argv or ()]
    programs = [code_fingerprint(file) for file in files if file.is_file()]  # a command's own, in the project's folder
    return content_hash([described, None if source is None else code_fingerprint(source), entry, programs])


def model_mark(project: Project, role: Any) -> Any:
    """Return name and parameters of a role's model, None where none is set."""
    return project.gateway.describe(role) if project.gateway.has(role) else None


def code_fingerprint(source: Path | Callable[..., Any], inside: tuple[Any, ...] = ()) -> str:
    """Return the hash of a file and the project files that it imports, or of a function's source and closure.

    `inside` are the functions whose closures lead here.
    """
    if isinstance(source, Path):
        files = _with_neighbours(source)
        return content_hash({Path(relpath(file, source.parent)).as_posix(): file.read_bytes() for file in files})
    function: Any = inspect.unwrap(source)
    try:
        text = inspect.getsource(function)
    except (OSError, TypeError):  # typed into a prompt, or an instance: its compiled form is all there is
        code = getattr(function, "__code__", None)
        text = repr(type(function)) if code is None else code.co_code.hex() + repr(code.co_consts)
    try:
        held = inspect.getclosurevars(function).nonlocals
        values = {name: _closure_mark(value, (*inside, function)) for name, value in held.items()}
    except TypeError:  # not a plain function: it has no closure
        values = {}
    return content_hash([text, values])


def _closure_mark(value: Any, inside: tuple[Any, ...]) -> str:
    if not inspect.isfunction(value):
        return repr(value)
    return "itself" if value in inside else code_fingerprint(value, inside)  # its repr would be an address


def _with_neighbours(path: Path) -> list[Path]:
    """Return the file and every file beside it that it imports or names, directly or through another."""
    found = {path: None}
    waiting = [path]
    while waiting:
        current = waiting.pop()
        named = referred_files(current) if current.suffix in ENDINGS else _imported_files(current, path.parent)
        for candidate in named:
            if candidate.is_file() and candidate not in found:
                found[candidate] = None
                waiting.append(candidate)
    return sorted(found)


def _imported_files(path: Path, folder: Path) -> Iterable[Path]:
    for name in _imports(path):
        top = name.partition(".")[0]
        yield folder / f"{top}.py"
        yield from (folder / top).glob("**/*.py")


def _imports(path: Path) -> Iterable[str]:
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):  # a NUL in it; the check tells what is wrong
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
