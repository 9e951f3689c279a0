"""What a run's results depend on: a changed part means that its journal may not be used without saying so."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import version
from os.path import relpath
from pathlib import Path
from typing import Any

from skynet.data.case import Case, content_hash
from skynet.evaluation.project import Project
from skynet.evaluation.source_files import with_neighbours
from skynet.runs.engines import package_of
from skynet.runs.function_mark import function_mark
from skynet.runs.metric_asks import may_ask

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
        "metric": _code_marks(project.metric_source),
        "models": {
            "task": model_mark(project, "task"),
            "reflection": model_mark(project, "reflection"),
            "metric": _metric_model(project),
        },
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


def evaluation_scope(parts: Mapping[str, Any]) -> str:
    """Return the hash of what an evaluation depends on besides version, case and repetition."""
    own = [parts[name] for name in ("skynet", "target", "metric", "limits")]
    models, seed = parts["models"], parts["evaluation"]["seed"]
    return content_hash([*own, models["task"], models["metric"], seed])[:16]


def target_fingerprint(project: Project) -> str:
    """Return the hash of the target's settings and code."""
    spec = project.spec.target
    described = spec.model_dump(mode="json", exclude={"timeout"})
    source = project.target_source
    entry = project.spec.artifact.entry if spec.kind == "code" else None
    files = [project.spec.resolve(argument) for argument in spec.argv or ()]
    programs = [code_fingerprint(file) for file in files if _is_file(file)]  # a command's own, in the project's folder
    return content_hash([described, None if source is None else code_fingerprint(source), entry, programs])


def _is_file(path: Path) -> bool:
    """Whether it is a file. An argument may be any text, such as a script that is too long for a name."""
    try:
        return path.is_file()
    except OSError:
        return False


def model_mark(project: Project, role: Any) -> Any:
    """Return name and parameters of a role's model, None where none is set."""
    return project.gateway.describe(role) if project.gateway.has(role) else None


def _metric_model(project: Project) -> Any:
    """Return the metric model's mark. The reflection model stands in for it only where the metric may ask one."""
    source = project.metric_source
    if project.spec.models.metric is None:
        files = with_neighbours(source) if isinstance(source, Path) else []
        if not may_ask(source, files):
            return None
    return model_mark(project, "metric")


def code_fingerprint(source: Path | Callable[..., Any]) -> str:
    """Return the hash of a file and the project files that it imports, or of a function and what it reads."""
    if not isinstance(source, Path):
        return content_hash(function_mark(source))
    files = with_neighbours(source)
    return content_hash({Path(relpath(file, source.parent)).as_posix(): file.read_bytes() for file in files})


def _code_marks(source: Path | Callable[..., Any]) -> str | dict[str, str]:
    """Return the hash of a file, or the hashes of a function and its values, so that the changed one can be named."""
    return code_fingerprint(source) if isinstance(source, Path) else function_mark(source)
