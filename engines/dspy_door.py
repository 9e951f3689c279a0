"""Programs that run through the host's rollout door: clocked, charged, scored once, and served when known.

Each program that an optimizer gets is of a subclass of the user's own class, whose `forward` opens a rollout. The
prediction that it returns carries its evaluation and value, which is all that a metric for dspy has to look at. A run
that fails returns a prediction too: what it counts as is the host's business, and dspy never counts an error. With
repeats above 1 a program is run so often where dspy runs it once: the value is the mean, fields and trace are those of
the first repetition that was measured. Only the samples that an optimizer draws at a temperature are made once.
"""

from __future__ import annotations

import contextvars
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import dspy
from dspy.utils.exceptions import AdapterParseError

from skynet.engine import (
    Artifact,
    Content,
    Evaluation,
    ModelFailed,
    Programs,
    Rejected,
    SearchBroken,
    SearchEvaluator,
    SearchTask,
    TaskCase,
    Version,
    merge,
)

from .dspy_plan import TooSmall
from .dspy_state import predictor_states
from .dspy_steps import Steps, describe_run, failed_call, recall

CASE = "skynet_case"  # the input that says which case a program is run on: "train:" or "val:" and its id
TRAIN, VAL = "train:", "val:"
ROLLOUT = "skynet_rollout"  # dspy's setting that carries a rollout's context into threads that the program starts


Result = TypeVar("Result")
Key = tuple[str, str, int]  # content, case, occurrence


class Carried(BaseException):
    """An Exception on its way out: dspy's optimizers log and forget those, but no BaseException."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


def _is_the_proposers(error: BaseException | None) -> bool:
    """Tell whether the reflection model was the cause: it failed, or replied what its signature cannot be read from.

    What a program runs into is an evaluation's failure and never comes this far.
    """
    while error is not None:
        if isinstance(error, ModelFailed | AdapterParseError):
            return True
        error = error.__cause__ or error.__context__
    return False


class Door:
    """Where all programs of one search are run. Used from many threads at once.

    A run that was seen before is served here; every `stride`th time the host is asked, which counts as a step of its
    guard against searches that stand still. Left as a context manager, no program runs any more.
    """

    def __init__(
        self, task: SearchTask, programs: Programs, evaluator: SearchEvaluator, note: str, stride: int
    ) -> None:
        self._task = task
        self._programs = programs
        self._evaluator = evaluator
        self._note = note
        self._cases: dict[str, TaskCase] = {TRAIN + case.id: case for case in task.train}
        self._cases |= {VAL + case.id: case for case in task.val}
        self._lock = threading.Lock()
        self._stop: BaseException | None = None
        self._seen: dict[Key, Evaluation] = {}
        self._served = 0
        self._stride = stride
        self._versions: dict[str, Version | None] = {task.start.id: task.start}
        self.parent = task.start  # the version that the next state to be put forward comes from
        # The host's own pass over the start: where nothing but the score matters, it need not be run again.
        self.start_val = {item.case: item for item in evaluator.evaluate(task.start, task.val)}
        measured = [item.score for item in self.start_val.values() if item.score is not None]
        self._stand_in = sum(measured) / len(measured) if measured else None

    def program(self, version: Version) -> Any:
        """Return a program with the version's state that runs through this door."""
        program = self._programs(version)
        program.__class__ = _through(self, type(program))
        return program

    def __enter__(self) -> Door:
        return self

    def __exit__(self, *_: object) -> None:
        self.close(Carried(RuntimeError("the search has ended")))

    def guarded(self, work: Callable[[], Result]) -> Result:
        """Do the work of an optimizer; what it raises is carried past optimizers around it, as SearchBroken."""
        try:
            return work()
        except TooSmall:
            raise
        except SearchBroken as broken:
            raise Carried(broken) from broken.__cause__
        except Exception as error:
            told = f"{self._note} failed: {type(error).__name__}: {error}"
            reason = "reflection_broken" if _is_the_proposers(error) else "error"
            raise Carried(SearchBroken(told, reason)) from error

    def note(self, text: str) -> None:
        """Tell the user a sentence about the search."""
        self._evaluator.note(text)

    def close(self, stop: BaseException) -> None:
        """Have every later run raise `stop`: threads that dspy left behind must not go on."""
        with self._lock:
            self._stop = self._stop or stop

    def content(self, program: Any) -> Content:
        """Return the content of the version that a program is."""
        state = self._programs.state(program)
        assert isinstance(state, dict)
        for predictor in predictor_states(state):
            for demo in predictor["demos"]:
                demo.pop(CASE, None)
        return state

    def put_forward(self, content: Content) -> str:
        """Put a content forward unless that was done before; return its id."""
        name = Artifact(self._task.kind, content).id
        with self._lock:
            if name not in self._versions:
                self._versions[name] = None
                try:
                    self._versions[name] = self._evaluator.propose(content, self.parent, self._note)
                except Rejected:
                    return name  # the books have the reason; it may still be run, as a probe
        return name

    def is_known(self, program: Any) -> bool:
        """Whether a program's state was put forward before."""
        return Artifact(self._task.kind, self.content(program)).id in self._versions

    def version_of(self, program: Any) -> Version | None:
        """Return the version that a program's state was put forward as, if it was taken."""
        return self._versions.get(Artifact(self._task.kind, self.content(program)).id)

    def run(self, program: Any, kind: type, inputs: dict[str, Any]) -> Any:
        """Run a program of the user's class `kind` on a case, or serve the run; return its prediction."""
        try:
            return self._run(program, kind, inputs)
        except Exception as error:  # a fault of ours or of the host, since a program's own ends in its evaluation
            carried = Carried(error)
            self.close(carried)
            raise carried from error
        except BaseException as stop:
            self.close(stop)
            raise

    def _run(self, program: Any, kind: type, inputs: dict[str, Any]) -> Any:
        if self._stop is not None:
            raise self._stop
        place = inputs.pop(CASE)
        case, content = self._cases[place], self.content(program)
        name = self.put_forward(content) if place.startswith(VAL) else Artifact(self._task.kind, content).id
        occurrence = _occurrence(program)
        traced = dspy.settings.trace
        known = self.start_val.get(case.id) if place.startswith(VAL) and name == self._task.start.id else None
        if known is not None and occurrence == 0 and traced is None:
            return self._prediction({}, known)
        evaluation = self._served_here((name, case.id, occurrence))
        if evaluation is None:
            runs: list[Evaluation] = []
            for repetition in range(1 if occurrence else self._task.repeats):
                with self._evaluator.rollout(content, case, occurrence, repetition) as rollout:
                    if rollout.evaluation is None:
                        self._execute(rollout, program, kind, inputs)
                assert rollout.evaluation is not None
                runs.append(rollout.evaluation)
            evaluation = self._keep((name, case.id, occurrence), runs)
        steps: Steps = evaluation.steps
        if traced is not None:
            traced.extend(recall(program, steps))
        return self._prediction(steps["fields"], evaluation)

    def _served_here(self, key: Key) -> Evaluation | None:
        with self._lock:
            evaluation = self._seen.get(key)
            self._served += evaluation is not None
            return None if evaluation is not None and self._served % self._stride == 0 else evaluation

    def _keep(self, key: Key, runs: Sequence[Evaluation]) -> Evaluation:
        """Return the repetitions as one evaluation, those that measured nothing left out of its value; and keep it."""
        measured = [run for run in runs if not _is_unmeasured(run)]
        rest = [run for run in runs if _is_unmeasured(run)]
        evaluation = replace(merge([*measured, *rest]), value=merge(measured or rest).value)
        if all(run.failure != "provider" for run in runs):  # the next request asks the provider anew
            with self._lock:
                self._seen[key] = evaluation
        return evaluation

    def _execute(self, rollout: Any, program: Any, kind: type, inputs: dict[str, Any]) -> None:
        trace: list[Any] = []
        # Plain threads that the program starts carry dspy's settings, not the context that the host charges calls by.
        settings = {"trace": trace, ROLLOUT: contextvars.copy_context()}
        try:
            with dspy.context(**settings):
                prediction = kind.forward(program, **inputs)  # type: ignore[attr-defined]
            output = self._programs.output(prediction)
        except Exception as error:  # noqa: BLE001 - whatever the user's program raises is its failure
            trace += failed_call(program, error, inputs)
            trimmed = error.with_traceback(error.__traceback__ and error.__traceback__.tb_next)
            rollout.fail(trimmed, describe_run(program, trace, None))
            return
        rollout.finish(output, self._programs.trajectory(prediction), describe_run(program, trace, prediction))

    def _prediction(self, fields: Mapping[str, Any], evaluation: Evaluation) -> Any:
        prediction = dspy.Prediction(**fields)
        prediction._evaluation = evaluation
        prediction._value = self.value(evaluation)  # here and not in a metric, whose errors dspy counts as zeros
        return prediction

    def value(self, evaluation: Evaluation) -> float:
        """Return the number that an optimizer is told: finite, and the start's mean where nothing was measured."""
        unmeasured = _is_unmeasured(evaluation)
        value = self._stand_in if unmeasured and self._stand_in is not None else evaluation.value
        if not math.isfinite(value):
            raise ValueError(f"version {evaluation.version}, case {evaluation.case}: the evaluator's value is {value}")
        return float(value)


def _is_unmeasured(evaluation: Evaluation) -> bool:
    return evaluation.status == "unmeasured" or evaluation.failure == "provider"


def _through(door: Door, kind: type) -> type:
    """Return the subclass that runs through the door. It looks like the user's class to whoever reads its source."""

    def forward(self: Any, **inputs: Any) -> Any:
        return door.run(self, kind, inputs)

    names = ("__module__", "__qualname__", "__doc__")
    return type(kind)(kind.__name__, (kind,), {**{name: getattr(kind, name) for name in names}, "forward": forward})


def _occurrence(program: Any) -> int:
    """Return 0 for a program's own run, else one more than the rollout id that an optimizer set on the model.

    A sample with id 0 is no run of the version: it is made at another temperature.
    """
    models = [predictor.lm for predictor in program.predictors() if predictor.lm is not None]
    number = (models[0] if models else dspy.settings.lm).kwargs.get("rollout_id")
    return 0 if number is None else int(number) + 1
