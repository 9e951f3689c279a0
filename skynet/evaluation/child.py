"""The entries of the workers: what a metric worker and a target worker load, and how they serve a call.

This module runs inside user workers: it imports nothing heavy.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from skynet.evaluation.child_metric import load_file
from skynet.evaluation.child_score import as_function
from skynet.metric.context import Call, Observation, enter, leave
from skynet.metric.contract import BadReturn, Unmeasured, validate
from skynet.metric.function import definition, function_globals
from skynet.metric.load import LoadedMetric, load_function
from skynet.metric.module import run_file
from skynet.metric.problem import LoadProblem
from skynet.metric.show import show
from skynet.workers.fault import Fault, Refused, cut
from skynet.workers.frames import Unsupported, pack
from skynet.workers.private import close_process
from skynet.workers.runtime import Ask, Loaded

Config = dict[str, Any]
_REPR_CHARS = 2_000
_PICKLED_FILE = "<dynamic-code>"  # cloudpickle's name for the file of any function
_RUN = "Write it as: def run(artifact, input)."


def metric(config: Config) -> Loaded:
    """Load the metric named by `config` (`path`, or a `pickled` function) for calls of `score`.

    It and the expected values that it is told are nothing for code of versions to read.
    """
    close_process()
    folder = enter_folder(config)
    path = config.get("path", "")
    function = None if path else _unpickled(config)
    try:
        loaded = load_file(Path(path)) if path else load_function(function, as_function)
    except LoadProblem as problem:
        raise refused(problem, path or definition(function)[0]) from None
    limit = config["feedback_limit"]

    def handler(payload: dict[str, Any], ask: Ask) -> dict[str, Any]:
        return _scored(loaded, payload, ask, limit)

    info = {
        "warnings": list(loaded.warnings), "calls_llm": loaded.calls_llm, "reward_spec": loaded.reward_spec,
        "file": loaded.file, "line": loaded.line,
    }  # fmt: skip
    return Loaded(handler, folder, loaded.files, info)


def refused(problem: LoadProblem, file: str | None) -> Refused:
    """Return a load problem as a worker tells it."""
    data = {"stage": problem.stage}
    return Refused(Fault("raised", str(problem), "", problem.traceback, file, problem.line, data))


def _scored(loaded: LoadedMetric, payload: dict[str, Any], ask: Ask, limit: int) -> dict[str, Any]:
    measured = payload["observation"]
    enter(Call("metric", ask, None if measured is None else Observation(**measured)))
    try:
        returned = loaded.style.call(
            loaded.score, payload["input"], payload["output"], payload["expected"], payload["trace"]
        )
        valid = validate(returned)
    except BadReturn as fault:
        raise Refused(Fault("bad_return", str(fault), file=loaded.file, line=loaded.line)) from None
    finally:
        leave()
    if isinstance(valid, Unmeasured):
        return {"unmeasured": valid.reason}
    warnings = list(valid.warnings)
    if len(valid.feedback) > limit:
        warnings.append(f"The feedback has {len(valid.feedback):,} characters; {limit:,} of them are kept.")
    return {
        "score": valid.score,
        "feedback": cut(valid.feedback, limit),
        "scores": valid.scores,
        "side_info": _crossing(valid.side_info, warnings),
        "warnings": warnings,
    }


def _crossing(side_info: dict[Any, Any], warnings: list[str]) -> dict[str, Any]:
    """Keep what can cross to the host; anything else crosses as its repr, which a warning says."""
    kept: dict[str, Any] = {}
    for key, value in side_info.items():
        name = key if isinstance(key, str) else repr(key)
        try:
            pack(value)
            kept[name] = value
        except Unsupported as fault:
            kept[name] = _described(value)
            warnings.append(f"The side info {name!r} holds {fault}; a description is kept instead.")
    return kept


def _described(value: Any) -> str:
    try:
        return cut(repr(value), _REPR_CHARS)
    except Exception:  # noqa: BLE001 - a `__repr__` of the user's may raise anything
        return show(value)


def python_target(config: Config) -> Loaded:
    """Load `run(artifact, input)` from the file, or the pickled function, that `config` names."""
    folder = enter_folder(config)
    path = config.get("path", "")
    run = _run_function(path) if path else _unpickled(config)
    _check_signature(run)

    def handler(payload: dict[str, Any], ask: Ask) -> Any:
        enter(Call("target", ask))
        try:
            return finished(run(payload["artifact"], payload["input"]))
        finally:
            leave()

    return Loaded(handler, folder, (path,) if path else _files_of(run))


def finished(returned: Any) -> Any:
    """Return what a plain `run` returned, or run what an `async def` one returned to its end."""
    if not inspect.isawaitable(returned):
        return returned

    async def wait() -> Any:
        return await returned

    return asyncio.run(wait())


def _run_function(path: str) -> Callable[..., Any]:
    try:
        module = run_file(Path(path), "run")
    except LoadProblem as problem:
        raise refused(problem, path) from None
    if not hasattr(module, "run"):
        raise Refused(Fault("raised", f"{os.path.basename(path)} defines no function `run`. {_RUN}", file=path))
    return module.run  # type: ignore[no-any-return]


def _check_signature(run: Callable[..., Any]) -> None:
    try:
        inspect.signature(run).bind("artifact", {})
    except TypeError as error:
        file, line = definition(run)
        message = f"`run` cannot be called as run(artifact, input): {error}. {_RUN}"
        raise Refused(Fault("raised", message, file=file, line=line)) from None


def enter_folder(config: Config) -> str:
    """Make the folder of the user's file the working folder and the last place to import from."""
    folder: str = config["folder"]
    try:
        os.chdir(folder)
    except OSError as error:
        raise refused(LoadProblem("Metric file", f"{folder} cannot be entered: {error.strerror}."), None) from None
    sys.path.append(folder)
    return folder


def _unpickled(config: Config) -> Any:
    import cloudpickle  # only for functions given from Python; made by the host, never by a worker

    function = cloudpickle.loads(config["pickled"])
    plain = function.func if isinstance(function, functools.partial) else function
    for value in (plain, *function_globals(function).values()):
        if isinstance(value, FunctionType) and config["file"]:
            value.__code__ = _filed(value.__code__, config["file"])
    return function


def _filed(code: CodeType, file: str) -> CodeType:
    """Return the code with the file that it came from, which the pickle left out, in place of the pickle's name."""
    if code.co_filename != _PICKLED_FILE:
        return code
    constants = (_filed(item, file) if isinstance(item, CodeType) else item for item in code.co_consts)
    return code.replace(co_filename=file, co_consts=tuple(constants))


def _files_of(function: Any) -> tuple[str, ...]:
    file, _ = definition(function)
    return () if file is None else (file,)
