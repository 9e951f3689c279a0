"""Which target a spec means, built with the workers that it needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from skynet.errors import SkynetError
from skynet.evaluation.artifact_files import part_files
from skynet.evaluation.worker_setup import PYTHON_ENTRY, Source, limits_of, warm_pool, worker_setup
from skynet.models.door import ModelDoor
from skynet.models.keys import read_env_file
from skynet.spec import Spec
from skynet.target.base import Target
from skynet.target.chat import ChatTarget
from skynet.target.code import CodeTarget
from skynet.target.command import CommandTarget
from skynet.target.folder import PrivateFolder
from skynet.target.http import HttpTarget, ReplyPaths
from skynet.target.python import PythonTarget
from skynet.target.request_template import RequestTemplate
from skynet.target.worker_calls import WorkerCalls
from skynet.workers.limits import worker_environment
from skynet.workers.pool import WorkerPool
from skynet.workers.preload import imported_libraries
from skynet.workers.process import WorkerSetup

if TYPE_CHECKING:
    from skynet.models.endpoint import Endpoint

CODE_ENTRY = "skynet.evaluation.child_code:code_target"
DSPY_ENTRY = "skynet.evaluation.child_dspy:dspy_target"
COMMAND_ENTRY = "skynet.evaluation.child_command:command_target"
_UNNAMED = "artifact"  # what the artifact's file is called where the first version is still to be written


def build_target(
    spec: Spec,
    source: Source | None,
    gateway: ModelDoor,
    environ: Mapping[str, str],
    workers: int,
    endpoint: Endpoint | None,
) -> Target:
    """Return the spec's target; templates of its workers begin to start. `source` is a python target's code,
    `endpoint` where SDKs in user code find the task model."""
    target = spec.target
    if target.kind == "chat":
        return ChatTarget(gateway, target.choices, target.timeout)
    if target.kind == "http":
        return _http(spec, environ)
    if target.kind == "python":
        code = source or Path("run.py")
        setup = worker_setup(PYTHON_ENTRY, code, spec.root, spec.limits, environ, target.env)
        pool = _warm(setup, workers, endpoint, code)
        return PythonTarget(pool, gateway, target.timeout, target.env, endpoint)
    if target.kind not in ("code", "command"):
        raise SkynetError(f"[target] kind = {target.kind!r} cannot be run by this version of Skynet")
    folder = PrivateFolder()
    is_code = target.kind == "code"
    setup = _code_setup(spec, folder, environ) if is_code else _command_setup(spec, folder, environ)
    calls = WorkerCalls(_warm(setup, workers, endpoint), gateway, target.timeout, target.env, endpoint)
    if is_code:
        return CodeTarget(calls, folder, spec.artifact.entry)
    return CommandTarget(calls, folder, _part_names(spec))


def _warm(
    setup: WorkerSetup, workers: int, endpoint: Endpoint | None = None, source: Source | None = None
) -> WorkerPool:
    return warm_pool(setup if endpoint is None else replace(setup, endpoint=endpoint.base_url), workers, source)


def _code_setup(spec: Spec, folder: PrivateFolder, environ: Mapping[str, str]) -> WorkerSetup:
    start = spec.resolve(spec.artifact.path) if spec.artifact.path else None
    return WorkerSetup(
        entry=CODE_ENTRY,
        folder=folder.path,
        config={"folder": str(folder.path), "file": _file_name(spec, ".py"), "entry": spec.artifact.entry},
        preload=() if start is None else imported_libraries(start),
        environment=worker_environment(environ, spec.target.env),
        limits=limits_of(spec.limits),
        hidden=(spec.root,),  # neither metric.py nor data can be imported from there
    )


def program_pool(spec: Spec, environ: Mapping[str, str], workers: int) -> WorkerPool:
    """Return the workers of a DSPy program; the template, which imports dspy, begins to start."""
    setup = worker_setup(DSPY_ENTRY, program_path(spec), spec.root, spec.limits, environ, spec.target.env)
    outputs = list(spec.data.outputs) if spec.data else []
    return _warm(replace(setup, config={**setup.config, "outputs": outputs}), workers, source=program_path(spec))


def program_path(spec: Spec) -> Path:
    """Return the file of a DSPy program."""
    return spec.resolve(spec.artifact.path or "program.py")


def _command_setup(spec: Spec, folder: PrivateFolder, environ: Mapping[str, str]) -> WorkerSetup:
    return WorkerSetup(
        entry=COMMAND_ENTRY,
        folder=spec.root,
        config={
            "folder": str(spec.root),
            "private": str(folder.path),
            "file": _file_name(spec, ".txt"),
            "argv": list(spec.target.argv or ()),
        },
        environment=worker_environment(environ, spec.target.env),
        limits=limits_of(spec.limits),
    )


def _file_name(spec: Spec, ending: str) -> str:
    return Path(spec.artifact.path).name if spec.artifact.path else f"{_UNNAMED}{ending}"


def _part_names(spec: Spec) -> dict[str, str]:
    if spec.artifact.kind != "parts" or spec.artifact.path is None:
        return {}
    return {name: path.name for name, path in part_files(spec.resolve(spec.artifact.path)).items()}


def _http(spec: Spec, environ: Mapping[str, str]) -> HttpTarget:
    target = spec.target
    keys = {**read_env_file(spec.resolve(".env")), **environ}
    template = RequestTemplate(target.method, target.url or "", target.headers, target.body, keys)
    paths = ReplyPaths(target.answer, target.trajectory, target.cost)
    return HttpTarget(template, paths, target.timeout, spec.limits.output)
