"""The dspy target: a version is the state of the user's program, which runs in a worker."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass, replace
from functools import cached_property
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any

from skynet.artifact import Artifact, Content
from skynet.errors import SkynetError
from skynet.metric.problem import LoadProblem
from skynet.target.base import TargetResult, Ticket
from skynet.target.program_file import ProgramFile, state_of, trajectory_of
from skynet.target.program_model import language_model
from skynet.target.worker_calls import WorkerCalls
from skynet.workers.pool import WorkerPool


def start_state(pool: WorkerPool) -> dict[str, Any]:
    """Return the state that the program has by itself. Raises SkynetError where its file does not load."""
    outcome = pool.load()
    if outcome.kind != "ok":
        raise SkynetError(f"the DSPy program cannot be loaded: {outcome.fault}")
    state: dict[str, Any] = outcome.value["state"]
    return state


class DspyTarget:
    """Runs the program with a version's state in the pool's workers; its models are the task model."""

    def __init__(self, calls: WorkerCalls) -> None:
        self._calls = calls

    def load(self) -> TargetResult | None:
        """Load the program file."""
        return self._calls.load()

    def run(self, artifact: Artifact, ticket: Ticket) -> TargetResult:
        """Run the program once; an agent's trajectory is the trace."""
        result = self._calls.run({"state": artifact.content, "input": ticket.case.input}, ticket)
        if result.fault is not None:
            return result
        return replace(result, output=result.output["output"], trace=result.output["trajectory"])

    def clock_floor_ms(self) -> float | None:
        """Return what a run that does nothing is clocked at."""
        return self._calls.pool.clock_floor_ms()

    def close(self) -> None:
        """End the workers."""
        self._calls.pool.close()


@dataclass(frozen=True)
class _Neighbours:
    """Finds modules in a folder when nothing else does. Not on sys.path, which other workers are started with."""

    folder: str

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: object = None) -> ModuleSpec | None:
        return PathFinder.find_spec(name, [self.folder]) if path is None else None


def import_from(folder: Path) -> None:
    """Make a folder the last place to import from, for as long as the process lives."""
    finder = _Neighbours(str(folder))
    if finder not in sys.meta_path:
        sys.meta_path.append(finder)


class HostPrograms:
    """The user's program in the host's own process, where the engine `dspy` runs it.

    Its file is imported when the first program is asked for, in the thread that asks; its folder becomes the last
    place to import from, for as long as the process lives. What dspy's optimizers need cannot be had from a worker:
    the live module and the traces of its predictors.
    """

    def __init__(self, path: Path, outputs: Sequence[str]) -> None:
        self._path = path
        self._outputs = outputs

    @cached_property
    def _file(self) -> ProgramFile:
        import_from(self._path.absolute().parent)
        try:
            return ProgramFile(self._path, self._outputs)
        except LoadProblem as problem:
            raise SkynetError(f"the DSPy program cannot be loaded: {problem}") from problem

    def __call__(self, version: Any) -> Any:
        """Return a fresh module with the state of a version (anything with a `content`)."""
        return self._file.fresh(version.content)

    def state(self, program: Any) -> Content:
        """Return the content of a version."""
        return state_of(program)

    def output(self, prediction: Any) -> Any:
        """Return what the metric scores of a prediction. Raises ValueError."""
        return self._file.output(prediction)

    def trajectory(self, prediction: Any) -> Any:
        """Return the trajectory of an agent's prediction, None of any other."""
        return trajectory_of(prediction)

    def language_model(self, name: str, ask: Callable[[dict[str, Any]], Any]) -> Any:
        """Return a `dspy.LM` without a cache; `ask` returns a mapping or a dataclass."""

        def answer(request: dict[str, Any]) -> Mapping[str, Any]:
            reply = ask(request)
            return asdict(reply) if is_dataclass(reply) and not isinstance(reply, type) else reply

        return language_model(name, answer)
