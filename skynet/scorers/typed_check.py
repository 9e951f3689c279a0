"""A check by its type and options, as a table of `[eval.metrics]` or of metric.yaml writes it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from skynet.errors import nearest
from skynet.metric.show import show
from skynet.scorers.judging import judge
from skynet.scorers.on_cases import Metric, as_metric, is_scorer
from skynet.scorers.plugins import named
from skynet.scorers.result import ScorerError
from skynet.spec.jobs import METRIC
from skynet.spec.metric_file import ENDINGS, MetricFileError, parse_metric_file

JUDGE = "judge"
FOLDER = "metrics"  # where a project keeps metrics to be named


def typed_metric(type: str, options: Mapping[str, Any], folder: Path) -> Metric | Path:
    """Return the metric of a judge's or a scorer's table, or the file that a metric's table stands for.

    Paths start from `folder`, and a type that is no scorer's is looked for in its `metrics`. Raises ScorerError.
    """
    if type == METRIC:
        return _file(folder, options)
    if type == JUDGE:
        return judge(**_judge_options(options))
    stored = stored_metrics(folder)
    if type in stored:
        return _stored(type, stored[type], options)
    try:
        scorer = named(type)
    except ScorerError as error:
        kept = f" Stored in {FOLDER}: {', '.join(stored)}.{nearest(type, stored)}" if stored else ""
        raise ScorerError(f"{error}{kept}") from error
    if not is_scorer(scorer):
        raise ScorerError(f"{type} is no function over an output; use type = 'metric' and a file with it")
    return as_metric(scorer, **options)


def stored_metrics(folder: Path) -> dict[str, Path]:
    """Return the metrics that the project in `folder` keeps by name; a file in `metrics` sees those beside it."""
    home = folder if folder.name == FOLDER else folder / FOLDER
    return {path.stem: path for ending in (".py", *ENDINGS) for path in sorted(home.glob(f"*{ending}"))}


def referred_files(path: Path) -> list[Path]:
    """Return the files that a metric.yaml names; none of one that cannot be read, which loading it tells."""
    try:
        checks = parse_metric_file(path.read_bytes(), path.name)[0].checks.values()
    except (OSError, MetricFileError):
        return []
    stored = stored_metrics(path.parent)
    files = [path.parent / str(one.options.get("path", "")) for one in checks if one.type == METRIC]
    files += [stored[one.type] for one in checks if one.type in stored]
    return [file for file in files if file.is_file()]


def _file(folder: Path, options: Mapping[str, Any]) -> Path:
    _only_path(options)
    path = options.get("path")
    if not isinstance(path, str) or not path:
        raise ScorerError(f"path is {show(path)}; name the metric's file, as in path: metric.py")
    return _existing(folder / path)


def _only_path(options: Mapping[str, Any]) -> None:
    for key in options:
        if key != "path":
            raise ScorerError(f"{key}: a metric of type metric takes only path.{nearest(key, ['path'])}")


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise ScorerError(f"path: there is no file {str(path)!r}; name a file with score(input, output, expected)")
    return path


def _stored(name: str, path: Path, options: Mapping[str, Any]) -> Path:
    if options:
        raise ScorerError(f"{name} is the file {FOLDER}/{path.name} and takes no options: {', '.join(options)}")
    if _is_scorer_name(name):
        raise ScorerError(f"{FOLDER}/{path.name} has the name of a scorer; rename the file")
    return path


def _is_scorer_name(name: str) -> bool:
    try:
        named(name)
    except ScorerError:
        return False
    return True


def _judge_options(options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the judge's options where it can be called with them. Raises ScorerError."""
    known = list(inspect.signature(judge).parameters)
    for key in options:
        if key not in known:
            raise ScorerError(f"a judge has no option {key!r}; it has {', '.join(known)}.{nearest(key, known)}")
    if "criteria" not in options:
        raise ScorerError('a judge needs criteria, such as criteria = "The reply is polite."')
    return options
