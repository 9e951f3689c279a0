"""The metric's file in its worker: metric.py, or metric.yaml turned into a `score`.

This module runs inside user workers: it imports nothing heavy unless the metric needs it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from skynet.errors import SkynetError, nearest
from skynet.evaluation.child_score import as_function
from skynet.metric.load import LoadedMetric, load_metric
from skynet.metric.module import read_source
from skynet.metric.problem import LoadProblem
from skynet.metric.signature import call_style

if TYPE_CHECKING:
    from skynet.spec.metric_file import MetricCheckSpec, MetricFile

_YAML = (".yaml", ".yml")
_KEYS = ("weight", "threshold", "not")


def load_file(path: Path, inside: tuple[Path, ...] = ()) -> LoadedMetric:
    """Load a metric's file of either kind. Raises LoadProblem; `inside` are the files whose checks lead here."""
    return _load_yaml(path.absolute(), inside) if path.suffix in _YAML else load_metric(path, as_function)


def _load_yaml(path: Path, inside: tuple[Path, ...]) -> LoadedMetric:
    from skynet.scorers import compose
    from skynet.spec.metric_file import line_of

    if path in inside:
        chain = " -> ".join(file.name for file in (*inside, path))
        raise LoadProblem("Metric function", f"{path.name} is a check of itself: {chain}.")
    file, lines = _parsed(path)
    parts: list[Any] = []
    files: dict[str, None] = {str(path): None}
    asks = False
    for name, check in file.checks.items():
        key = f"checks.{name}"
        try:
            metric, loaded = _check(check, path, (*inside, path))
        except SkynetError as fault:
            told = f"{key}: {fault}{_misspelt(check.options)}"
            raise LoadProblem("Metric function", told, line_of(key, lines), _frames(fault)) from fault
        asks = asks or check.type == "judge" or (loaded is not None and loaded.calls_llm)
        files |= {} if loaded is None else dict.fromkeys(loaded.files)
        parts.append((name, metric) if check.weight is None else (name, metric, check.weight))
    view = file.view or ("mean" if all(check.weight is None for check in file.checks.values()) else "weighted_mean")
    try:
        score = compose(parts, view, signals=file.signals, missing=file.missing)
    except SkynetError as fault:
        raise LoadProblem("Metric function", str(fault)) from fault
    return LoadedMetric(score, call_style(score), None, (), asks, str(path), None, tuple(files))


def _parsed(path: Path) -> tuple[MetricFile, dict[str, int]]:
    from skynet.spec.metric_file import MetricFileError, parse_metric_file

    source = read_source(path)
    if not source.strip():
        message = f"{path.name} is empty. Give it checks, such as: checks: {{right: {{type: exact_match}}}}"
        raise LoadProblem("Metric file", message)
    try:
        return parse_metric_file(source, path.name)
    except MetricFileError as fault:
        told = "\n".join(map(str, fault.faults))
        raise LoadProblem("Metric load" if fault.syntax else "Metric function", told, fault.line) from fault


def _check(check: MetricCheckSpec, path: Path, inside: tuple[Path, ...]) -> tuple[Any, LoadedMetric | None]:
    """Return the check's metric, and what was loaded where its type stands for a file."""
    from skynet.scorers.passing import passing
    from skynet.scorers.typed_check import typed_metric

    made = typed_metric(check.type, check.options, path.parent)
    if not isinstance(made, Path):
        return passing(made, check.threshold, negated=check.negated), None
    loaded = load_file(made, inside)
    return passing(loaded.score, check.threshold, negated=check.negated), loaded


def _misspelt(options: dict[str, Any]) -> str:
    """Return the hint for an option that is nearly a key of every check."""
    return next(filter(None, (nearest(name, _KEYS) for name in options)), "")


def _frames(fault: SkynetError) -> str:
    return fault.traceback if isinstance(fault, LoadProblem) else ""
