"""The setups of workers: which entry, which file or function, which folder, environment and limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from skynet.errors import SkynetError
from skynet.evaluation.source_files import SourceFiles
from skynet.metric.function import definition
from skynet.spec import LimitsSpec
from skynet.workers.limits import Limits, worker_environment
from skynet.workers.pool import WorkerPool
from skynet.workers.preload import imported_libraries
from skynet.workers.process import WorkerSetup

METRIC_ENTRY = "skynet.evaluation.child:metric"
PYTHON_ENTRY = "skynet.evaluation.child:python_target"

Source = Path | Callable[..., Any]


def metric_pool(
    source: Source, folder: Path, limits: LimitsSpec, environ: Mapping[str, str], passed: Sequence[str], size: int
) -> WorkerPool:
    """Return a pool of metric workers whose template begins to start."""
    setup = worker_setup(METRIC_ENTRY, source, folder, limits, environ, passed)
    return warm_pool(setup, size, source)


def warm_pool(setup: WorkerSetup, size: int, source: Source | None) -> WorkerPool:
    """Return a pool whose template begins to start; where its workers load files, these may not change meanwhile."""
    if isinstance(source, Path):
        pool = WorkerPool(setup, size, on_loaded=SourceFiles(source).check)
    else:
        pool = WorkerPool(setup, size)
    pool.warm()
    return pool


def worker_setup(
    entry: str, source: Source, folder: Path, limits: LimitsSpec, environ: Mapping[str, str], passed: Sequence[str]
) -> WorkerSetup:
    """Return the setup of workers for a file, or for a function whose working folder is `folder`."""
    config: dict[str, object] = {"feedback_limit": limits.feedback}
    if isinstance(source, Path):
        folder = source.parent
        config |= {"path": str(source)}
    else:
        config |= {"pickled": pickled(source), "file": definition(source)[0]}
    return WorkerSetup(
        entry=entry,
        folder=folder,
        config=config | {"folder": str(folder)},
        preload=imported_libraries(source) if isinstance(source, Path) else (),
        environment=worker_environment(environ, passed),
        limits=limits_of(limits),
    )


def limits_of(spec: LimitsSpec) -> Limits:
    """Return the spec's limits as workers take them."""
    return Limits(spec.memory, spec.prints, spec.output, spec.open_files)


def pickled(function: Callable[..., Any]) -> bytes:
    """Return the function for a worker. Raises SkynetError naming what cannot be sent."""
    import cloudpickle

    try:
        return bytes(cloudpickle.dumps(function))
    except Exception as error:  # any object in a closure may refuse in its own way
        raise SkynetError(
            f"{getattr(function, '__name__', 'the function')} cannot be sent to a worker: {error}. "
            "Build what it needs inside it, or write it to a file and give the file."
        ) from error
