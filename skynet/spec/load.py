"""Reading a spec: TOML or a dict in, a checked `Spec` out."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from skynet.spec.faults import Fault, SpecError, shape_fault
from skynet.spec.metric_file import ENDINGS
from skynet.spec.models import Document, Spec
from skynet.spec.rules import broken_rules
from skynet.spec.syntax import syntax_fault

SPEC_NAME = "skynet.toml"


def load_spec(path: Path, given: Mapping[str, Any] | None = None, code: Collection[str] = ()) -> Spec:
    """Read a spec file, or the `skynet.toml` of a folder. Raises SpecError naming file, key and what would be right.

    `given` are tables that win over the file's, key by key; `code` as in `parse_spec`.
    """
    file = path / SPEC_NAME if path.is_dir() else path
    return parse_spec(merged(_read(file), given or {}), file.parent, str(file), code)


def merged(data: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return `data` with the keys of `given` put in, table by table.

    A table of another `kind` or `name` is replaced whole: the options of one engine or model mean nothing to another.
    """
    both = dict(data)
    for key, value in given.items():
        inner = both.get(key)
        both[key] = value
        if isinstance(value, Mapping) and isinstance(inner, Mapping):
            same = all(value.get(mark, inner.get(mark)) == inner.get(mark) for mark in ("kind", "name"))
            both[key] = merged(inner, value) if same else value
    return both


def parse_spec(data: Mapping[str, Any], root: Path, file: str = SPEC_NAME, code: Collection[str] = ()) -> Spec:
    """Check a spec given as a dict. Relative paths start from `root`; `file` is what error messages call it.

    `code` names the paths (`metric.path`, `target.path`, `data.path`, `artifact.path`) for which the caller has
    something else, or no use.
    """
    root = root.absolute()
    try:
        document = Document.model_validate(_completed(data, root, code))
    except ValidationError as error:
        faults = [_pointed(shape_fault(detail), data) for detail in error.errors(include_url=False)]
        raise SpecError(file, faults) from None
    spec = Spec(**dict(document), root=root)
    faults = list(broken_rules(spec, code))
    if faults:
        raise SpecError(file, faults)
    return spec


def _completed(data: Mapping[str, Any], root: Path, code: Collection[str]) -> dict[str, Any]:
    """Fill in what follows from elsewhere: the folder's name, and the target of an artifact that is its own."""
    complete = {"name": root.name or "project", "target": {}, **data}
    artifact, target = complete.get("artifact"), complete["target"]
    kind = artifact.get("kind") if isinstance(artifact, dict) else getattr(artifact, "kind", None)
    if kind in ("code", "dspy") and isinstance(target, dict):
        complete["target"] = {"kind": kind, **target}
    elif not target and "artifact.path" in code:  # a job that runs no target need not name one
        complete["target"] = {"kind": "chat"}
    metric = complete.get("metric")
    if isinstance(metric, dict) and isinstance(metric.get("name"), str) and "path" not in metric:
        complete["metric"] = {**metric, "path": _stored_metric(metric["name"], root)}
    return complete


def _pointed(found: Fault, data: Mapping[str, Any]) -> Fault:
    """Point to `skynet eval` where neither artifact nor target is there: perhaps nothing is to be optimized."""
    if found.key != "target.kind" or "target" in data or "artifact" in data:
        return found
    if "eval" in data:
        message = "is missing, and a check or a run needs it. This is an evaluation job; score it with `skynet eval`."
    else:
        message = f"{found.message} To score stored outputs only, write [eval], and use `skynet eval`."
    return Fault(found.key, found.value, message)


def _stored_metric(name: str, root: Path) -> str:
    """Return the path of a metric in the folder `metrics`; where there is none, the first place that was looked at."""
    paths = [f"metrics/{name}{ending}" for ending in (*ENDINGS, ".py")]
    return next((path for path in paths if (root / path).is_file()), paths[0])


def _read(file: Path) -> dict[str, Any]:
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        hint = "Name a project's folder or its spec file; `skynet init` writes a new project."
        raise SpecError(str(file), [Fault("", "", f"there is no such file. {hint}")]) from None
    except OSError as error:
        raise SpecError(str(file), [Fault("", "", f"cannot be read: {error.strerror}.")]) from error
    try:
        text = content.decode("utf-8-sig")
        return tomllib.loads(text)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise SpecError(str(file), [Fault(f"line {line}", "", "is not UTF-8 text; save the file as UTF-8.")]) from None
    except tomllib.TOMLDecodeError as error:
        raise SpecError(str(file), [syntax_fault(str(error), text)]) from None
