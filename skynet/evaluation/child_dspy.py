"""The entry of a worker that runs a DSPy program.

This module runs inside user workers: dspy is imported with the user's file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from skynet.evaluation.child import enter_folder, refused
from skynet.metric.context import Call, enter, leave
from skynet.metric.helpers import answer_of
from skynet.metric.problem import LoadProblem
from skynet.target.program_file import ProgramFile, state_of, trajectory_of
from skynet.target.program_model import language_model
from skynet.workers.runtime import Ask, Loaded


def dspy_target(config: dict[str, Any]) -> Loaded:
    """Load the program file at `path`; `outputs` are the output columns. Tells the `state` that it has by itself."""
    folder, path = enter_folder(config), config["path"]
    try:
        file = ProgramFile(Path(path), config["outputs"])
        start = state_of(file.fresh())
    except LoadProblem as problem:
        raise refused(problem, path) from None
    _without_caches()

    def handler(payload: dict[str, Any], ask: Ask) -> dict[str, Any]:
        call = Call("target", ask)
        enter(call)
        try:
            return _run(file, payload, call)
        finally:
            leave()

    return Loaded(handler, folder, (path,), {"state": start})


def _without_caches() -> None:
    """A stored reply would be neither paid, clocked nor journaled: also a program's own models must not have one."""
    import dspy

    dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=False)


def _run(file: ProgramFile, payload: dict[str, Any], call: Call) -> dict[str, Any]:
    import dspy

    program = file.fresh(payload["state"])
    model = language_model("skynet/task", lambda request: answer_of(call, request))
    with dspy.context(lm=model, trace=None, disable_history=True):
        prediction = program(**payload["input"])
    return {"output": file.output(prediction), "trajectory": trajectory_of(prediction)}
