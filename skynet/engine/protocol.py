"""The task, the doors, the models and the stops that an engine works with."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Protocol

from skynet.artifact import Artifact, Content, Kind

Status = Literal["ok", "unmeasured", "failed"]
Failure = Literal["target", "metric", "provider"]
Message = Mapping[str, Any]  # {"role": "system" | "user" | "assistant", "content": text}, or OpenAI's larger shapes


class RunStop(BaseException):
    """The run ends: its budget is spent or it was cancelled. Not an Exception, so that no engine swallows it."""


class LaneStop(BaseException):
    """This engine's share ends while the run goes on with another engine."""


class LaneConverged(LaneStop):
    """This engine stands still: so many steps brought no new evaluation."""


class Rejected(Exception):
    """A proposal that was not taken; the text is the reason, written for the proposer. It cost no evaluation."""


@dataclass(frozen=True, slots=True)
class TaskCase:
    """One case as an engine sees it: never with its expected value."""

    id: str
    input: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LabelledCase:
    """A train case with its expected value, given only to engines that run with `labels = true`."""

    id: str
    input: Mapping[str, Any]
    expected: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Version:
    """One content that was put forward: its name (a hash), the one it came from, and the engine's note on why."""

    artifact: Artifact
    parent: str | None = None
    note: str = ""

    @property
    def id(self) -> str:
        """The artifact's hash."""
        return self.artifact.id

    @property
    def content(self) -> Content:
        """The artifact's content."""
        return self.artifact.content


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The record of one version on one case and repetition.

    `score` is what the metric returned, None when unmeasured or failed. `value` is always a number, for engines that
    need one: the score, the failure score, or for an unmeasured case the mean of the version's measured cases in the
    batch. `feedback` carries the error's text where something failed. Times are milliseconds, costs US dollars.
    `steps` is what an engine said of its own rollout, and is None for every other evaluation.
    """

    version: str
    case: str
    repetition: int
    split: str
    status: Status
    value: float
    score: float | None = None
    failure: Failure | None = None
    output: Any = None
    feedback: str = ""
    scores: Mapping[str, float] = field(default_factory=dict)
    side_info: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None
    elapsed_ms: float | None = None
    cost_usd: float | None = None
    trace: Any = None
    steps: Any = None


def merge(repetitions: Sequence[Evaluation]) -> Evaluation:
    """Return one evaluation for the repetitions of a case: means of values and scores, every different feedback.

    Output, trace and steps are those of the first repetition that was measured.
    """
    if len(repetitions) == 1:
        return repetitions[0]
    scores = [item.score for item in repetitions if item.score is not None]
    names = sorted({name for item in repetitions for name in item.scores})
    return replace(
        next((item for item in repetitions if item.status == "ok"), repetitions[0]),
        value=_mean([item.value for item in repetitions]),
        score=_mean(scores) if scores else None,
        feedback="\n".join(dict.fromkeys(item.feedback for item in repetitions)),
        scores={name: _mean([item.scores[name] for item in repetitions if name in item.scores]) for name in names},
        repetition=0,
    )


def _mean(values: Sequence[float]) -> float:
    mean = math.fsum(value / len(values) for value in values)  # divided first: the sum of large ones is no float
    return min(max(mean, min(values)), max(values))


class Rollout(Protocol):
    """One case that the engine runs itself. `evaluation` is set at once when the journal already holds it.

    Otherwise the engine calls finish() or fail(), exactly one of them and once. `steps` is whatever plain value the
    engine needs to go on from a stored rollout as from a new one; it comes back as `evaluation.steps`.
    """

    evaluation: Evaluation | None

    def finish(self, output: Any, trace: Any = None, steps: Any = None) -> Evaluation:
        """Score the output. `trace` is the trajectory that the metric may read."""
        ...

    def fail(self, error: Exception, steps: Any = None) -> Evaluation:
        """Enter the run as failed by the version: nothing is scored."""
        ...


class SearchEvaluator(Protocol):
    """The doors of a search. Each raises RunStop or LaneStop when the budget is spent or the search stands still."""

    @property
    def remaining(self) -> int:
        """Metric calls that this engine may still spend."""
        ...

    def propose(self, content: Content, parent: Version | None, note: str = "") -> Version:
        """Put a content forward as a candidate. Raises Rejected when it is empty, identical, seen before or broken."""
        ...

    def reject(self, reply: str, reason: str) -> None:
        """Enter a proposer's reply that cannot even become a content, as a proposal that was not taken.

        Without it a proposer that never writes a usable reply would be asked without end: no other door is touched.
        """
        ...

    def evaluate(self, version: Version, cases: Sequence[TaskCase]) -> list[Evaluation]:
        """Evaluate the version on the cases, in their order; what is already known costs nothing.

        With repeats above 1 there is one Evaluation a case, whose value and scores are the means of its repetitions.
        """
        ...

    def rollout(
        self, content: Version | Content, case: TaskCase, occurrence: int = 0, repetition: int = 0
    ) -> AbstractContextManager[Rollout]:
        """Clock and score a run that the engine makes itself, of a version or of a probe that is no candidate.

        One metric call. With repeats above 1 a version stands on a case only when each `repetition` from 0 on was run.
        An `occurrence` above 0 is a sample, which does not count for the version's standing.
        """
        ...

    def lane(self, name: str) -> AbstractContextManager[None]:
        """Enter the work of another engine: the run shows its name, and standing still inside raises LaneConverged."""
        ...

    def note(self, text: str) -> None:
        """Tell the user a sentence about the search; it stands in the run's events and in the report."""
        ...


@dataclass(frozen=True, slots=True)
class ModelReply:
    """A model's whole reply. `tool_calls` are OpenAI's objects; tokens are None when the provider counted none.

    `finish_reason` is `length` where the reply was cut at the request's limit, which is `max_tokens`.
    """

    text: str
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    finish_reason: str = "stop"
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    max_tokens: int | None = None

    @property
    def cut(self) -> str | None:
        """Why a reply of the reflection model is not whole, for the proposer and the user; None when it is whole."""
        if self.finish_reason != "length":
            return None
        limit = "its limit of tokens" if self.max_tokens is None else f"max_tokens = {self.max_tokens}"
        return f"the reply was cut at {limit}; raise max_tokens in the params of [models] reflection"


class Models(Protocol):
    """The run's models, metered and within the budget. A call made inside a rollout is charged to its case."""

    def has(self, role: str) -> bool:
        """Whether a model stands behind the role: task, reflection or metric."""
        ...

    def complete(
        self,
        messages: Sequence[Message],
        *,
        role: str = "reflection",
        temperature: float | None = None,
        max_tokens: int | None = None,
    ) -> str:
        """Return the model's reply. Raises ModelFailed when the provider fails for good or the reply never came."""
        ...

    def ask(self, request: Mapping[str, Any], role: str = "reflection") -> ModelReply:
        """Return the whole reply to a request. Raises ModelFailed as complete() does.

        The request holds `messages` and, where set, `temperature`, `max_tokens`, `tools`, `tool_choice` and `extra`
        (further OpenAI parameters).
        """
        ...


class Programs(Protocol):
    """What an engine can do with a DSPy program, whose file the host imported for it."""

    def __call__(self, version: Version) -> Any:
        """Return a fresh module with the version's state and no language model of its own."""
        ...

    def state(self, program: Any) -> Content:
        """Return the content of a version: instructions and demonstrations of each predictor."""
        ...

    def output(self, prediction: Any) -> Any:
        """Return what the metric scores of a prediction. Raises ValueError when a named field is missing."""
        ...

    def trajectory(self, prediction: Any) -> Any:
        """Return the trajectory of an agent's prediction, None of any other."""
        ...

    def language_model(self, name: str, ask: Callable[[dict[str, Any]], ModelReply]) -> Any:
        """Return a `dspy.LM` without a cache; `ask` answers its requests, which are those of Models.ask()."""
        ...


class ModelFailed(Exception):
    """A request of the engine that its provider did not answer, after all retries; the text has the cause."""


@dataclass(frozen=True, slots=True)
class SearchTask:
    """What an engine is given. `labelled_train` is empty unless the spec says `labels = true` for this engine.

    `repeats`: how often a case is run and scored, and so the metric calls that one case of `evaluate` takes.
    `concurrency`: cases that an engine may run at a time in rollouts. `program` is there for DSPy programs only.
    """

    kind: Kind
    target: str
    start: Version
    objective: str
    background: str
    train: tuple[TaskCase, ...]
    val: tuple[TaskCase, ...]
    seed: int
    maximum: float
    labelled_train: tuple[LabelledCase, ...] = ()
    output_column: str | None = None
    check: Callable[[Content], str | None] = lambda content: None
    program: Programs | None = None
    concurrency: int = 1
    repeats: int = 1

    def cases_for(self, metric_calls: int) -> int:
        """Return how many cases so many metric calls buy, each with all of its repetitions."""
        return max(0, metric_calls) // self.repeats


class Engine(Protocol):
    """A search strategy. `Options` is a pydantic model; a field `labels: bool` says that it can use labels."""

    name: ClassVar[str]
    Options: ClassVar[type]

    def applies(self, task: SearchTask, models: Models, options: Any) -> str | None:
        """Return why this engine cannot work on the task, or None when it can."""
        ...

    def estimate(self, task: SearchTask, budget: int, options: Any) -> int:
        """Return about how many proposals `budget` metric calls buy."""
        ...

    def search(self, task: SearchTask, evaluator: SearchEvaluator, models: Models, options: Any) -> None:
        """Propose and evaluate until done; returning means `engine_done`. Lets RunStop and LaneStop pass."""
        ...


class SearchBroken(Exception):
    """The engine cannot go on, such as five failed reflections in a row; the text is the cause, `reason` the finish."""

    def __init__(self, message: str, reason: str = "reflection_broken") -> None:
        super().__init__(message)
        self.reason = reason
