"""The entry of a worker that serves one version of a code artifact.

This module runs inside user workers: it imports nothing heavy.
"""

from __future__ import annotations

import inspect
import linecache
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from types import ModuleType
from typing import Any

from skynet.evaluation.child import finished
from skynet.metric.context import Call, enter, leave
from skynet.workers.fault import Fault, Refused, fault_of
from skynet.workers.runtime import Ask, Loaded

_MODULE = "artifact"


def code_target(config: dict[str, Any]) -> Loaded:
    """Run the `source` of a version, called `file` in tracebacks, and serve calls of its `entry`."""
    folder = _enter_private_folder(config["folder"])
    file = config["file"]
    run = _entry(_run_source(config["source"], file, folder), config["entry"], file)

    def handler(payload: dict[str, Any], ask: Ask) -> Any:
        _empty(folder)
        enter(Call("target", ask))
        try:
            return finished(run(payload["input"]))
        finally:
            leave()

    return Loaded(handler, folder, (file,))


def _enter_private_folder(parent: str) -> str:
    folder = tempfile.mkdtemp(dir=parent)
    os.chdir(folder)
    sys.path.append(folder)
    return folder


def _empty(folder: str) -> None:
    """Remove what earlier calls wrote: a case must find the folder as every other case does."""
    for item in os.scandir(folder):
        if item.is_dir(follow_symlinks=False):
            shutil.rmtree(item.path)
        else:
            os.unlink(item.path)


def _run_source(source: str, file: str, folder: str) -> ModuleType:
    module = ModuleType(_MODULE)
    module.__file__ = file
    sys.modules[_MODULE] = module  # dataclasses look their own module up
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)  # tracebacks quote its lines
    try:
        exec(compile(source, file, "exec", dont_inherit=True), module.__dict__)
    except BaseException as error:  # noqa: BLE001 - SystemExit too: nothing that a version raises ends the worker
        raise Refused(fault_of(error, folder, (file,))) from None
    return module


def _entry(module: ModuleType, name: str, file: str) -> Callable[..., Any]:
    run: Any = getattr(module, name, None)
    if not callable(run):
        was = "defines no function" if run is None else f"sets to {type(run).__name__}, which is no function, the name"
        raise Refused(Fault("raised", f"{file} {was} `{name}`. Write it as: def {name}(input).", file=file))
    if problem := _signature_problem(run):
        line = getattr(getattr(run, "__code__", None), "co_firstlineno", None)
        message = f"`{name}` cannot be called as {name}(input): {problem}. Write it as: def {name}(input)."
        raise Refused(Fault("raised", message, file=file, line=line))
    function: Callable[..., Any] = run
    return function


def _signature_problem(run: Callable[..., Any]) -> str:
    try:
        inspect.signature(run).bind({})
    except TypeError as error:
        return str(error)
    except ValueError:  # a built-in without a signature to look at: the first call tells
        return ""
    return ""
