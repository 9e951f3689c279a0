"""The user's program.py: the DSPy program in it, its state, and which of a prediction's fields are its output.

This module runs inside user workers and, for the engine `dspy`, in the host: dspy is imported by the user's file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from skynet.metric.module import run_file
from skynet.metric.problem import LoadProblem

MODULE = "program"
NO_OUTPUT = ("reasoning", "trajectory")  # what a program thinks on the way is no output
_HOW = "Set `program = dspy.ChainOfThought(...)` (any dspy.Module), or define build() that returns one"
_STAGE: Final = "Metric load"


class ProgramFile:
    """A program file that was run once; each program made from it is a module of its own.

    `outputs` are the names of the output columns. Raises LoadProblem saying what program.py lacks.
    """

    def __init__(self, path: Path, outputs: Sequence[str]) -> None:
        self._path = path
        self._outputs = tuple(outputs)
        self._module = run_file(path, MODULE)
        if not hasattr(self._module, "program") and not callable(getattr(self._module, "build", None)):
            raise LoadProblem(_STAGE, f"{path.name} defines neither `program` nor build(). {_HOW}.")

    def fresh(self, state: Mapping[str, Any] | None = None) -> Any:
        """Return a program of its own, with the state loaded where one is given."""
        program = self._made()
        if state is not None:
            program.load_state({name: value for name, value in state.items() if name != "metadata"})
        return program

    def _made(self) -> Any:
        import dspy

        has_program = hasattr(self._module, "program")
        made = self._module.program if has_program else self._module.build()
        if not isinstance(made, dspy.Module):
            what = "`program`" if has_program else "build()"
            raise LoadProblem(_STAGE, f"{what} of {self._path.name} is {type(made).__name__}, no dspy.Module. {_HOW}.")
        if not made.named_predictors():
            raise LoadProblem(_STAGE, f"the program of {self._path.name} has no predictor, so nothing can be improved.")
        return made.deepcopy() if has_program else made

    def output(self, prediction: Any) -> Any:
        """Return the field named by the one output column, a dict of those named, or without any column the fields.

        Raises ValueError naming a field that the prediction lacks.
        """
        fields = dict(prediction.items()) if hasattr(prediction, "items") else None
        if fields is None:
            raise ValueError(f"the program returned {type(prediction).__name__}; it should return a dspy.Prediction")
        names = self._outputs or tuple(name for name in fields if name not in NO_OUTPUT)
        for name in names:
            if name not in fields or name in NO_OUTPUT:
                shown = ", ".join(item for item in fields if item not in NO_OUTPUT) or "none"
                raise ValueError(
                    f"the prediction has no output field {name!r}; it has {shown}. Name the program's output field and "
                    "the output column alike"
                )
        return fields[names[0]] if len(names) == 1 else {name: fields[name] for name in names}


def trajectory_of(prediction: Any) -> Any:
    """Return the trajectory of an agent's prediction, None of any other."""
    return prediction.get("trajectory") if hasattr(prediction, "get") else None


def state_of(program: Any) -> dict[str, Any]:
    """Return a program's state as JSON values that `program.load` reads: the content of a version.

    The language model is the run's and not the program's; what a predictor merely noted of its training is left out.
    """
    state = program.dump_state()
    kept = _predictor(state) if is_predictor(state) else {name: _predictor(one) for name, one in state.items()}
    # load() compares the versions of libraries that stand here; a version's content must not depend on them.
    stored = {**kept, "metadata": {"dependency_versions": {}}}
    loaded: dict[str, Any] = json.loads(json.dumps(stored, default=str))
    return loaded


def is_predictor(state: Mapping[str, Any]) -> bool:
    """Whether a state is that of one predictor, which is what a program that is a bare dspy.Predict has."""
    return "signature" in state and "demos" in state


def _predictor(state: Mapping[str, Any]) -> dict[str, Any]:
    return {**{key: value for key, value in state.items() if key not in ("traces", "train")}, "lm": None}
