"""What an engine sees of Skynet: the task, the doors, the models, the two stops, and pure helpers for proposals.

An engine is a class registered under the entry-point group `skynet.engines`. It imports this module only. The host
keeps the books: whatever an engine put forward and had evaluated survives a stop at any moment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol

from skynet.artifact import Artifact as Artifact
from skynet.artifact import Content as Content
from skynet.artifact import Kind as Kind

Status = Literal["ok", "unmeasured", "failed"]
Failure = Literal["target", "metric", "provider"]
Message = Mapping[str, Any]  # {"role": "system" | "user" | "assistant", "content": text}, or OpenAI's larger shapes


class RunStop(BaseException):
    """The run ends: its budget is spent or it was cancelled. Not an Exception, so that no engine swallows it."""


class LaneStop(BaseException):
    """This engine's share ends while the run goes on with another engine."""


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
    """The two doors to a score. Both raise RunStop or LaneStop when the budget is spent."""

    @property
    def remaining(self) -> int:
        """Metric calls that this engine may still spend."""
        ...

    def propose(self, content: Content, parent: Version | None, note: str = "") -> Version:
        """Put a content forward as a candidate. Raises Rejected when it is empty, identical, seen before or broken."""
        ...

    def evaluate(self, version: Version, cases: Sequence[TaskCase]) -> list[Evaluation]:
        """Evaluate the version on the cases, in their order; what is already known costs nothing.

        With repeats above 1 there is one Evaluation a case, whose value and scores are the means of its repetitions.
        """
        ...

    def rollout(
        self, content: Version | Content, case: TaskCase, occurrence: int = 0
    ) -> AbstractContextManager[Rollout]:
        """Clock and score a run that the engine makes itself, of a version or of a probe that is no candidate."""
        ...

    def lane(self, name: str) -> AbstractContextManager[None]:
        """Enter the work of another engine: the run shows its name, and standing still inside raises LaneStop."""
        ...

    def note(self, text: str) -> None:
        """Tell the user a sentence about the search; it stands in the run's events and in the report."""
        ...


@dataclass(frozen=True, slots=True)
class ModelReply:
    """A model's whole reply. `tool_calls` are OpenAI's objects; tokens are None when the provider counted none."""

    text: str
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    finish_reason: str = "stop"
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


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

    `repeats`: metric calls that one case of `evaluate` takes. `concurrency`: cases that an engine may run at a time in
    rollouts. `program` is there for DSPy programs only.
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


def extract_fence(reply: str) -> str:
    """Return the proposal in a model's reply: the one outermost code fence, or the whole reply when there is none.

    Raises Rejected when several fences stand side by side or one is never closed, since no one can know which is meant.
    """
    blocks: list[list[str]] = []
    fences: list[str] = []  # the open fences, the outermost first
    for line in reply.strip().splitlines():
        if fences and _closes(line, fences[-1]):
            fences.pop()
            if not fences:
                continue
        elif (mark := _fence_mark(line)) and (not fences or mark[0] == fences[-1][0]):
            fences.append(mark)
            if len(fences) == 1:
                blocks.append([])
                continue
        if fences:
            blocks[-1].append(line)
    if fences:
        raise Rejected("the code fence is never closed; put the whole text between one pair of fences")
    if len(blocks) > 1:
        raise Rejected(f"the reply holds {len(blocks)} code fences; put the whole text in exactly one")
    return "\n".join(blocks[0]) if blocks else reply.strip()


def _fence_mark(line: str) -> str:
    stripped = line.strip()
    for char in "`~":
        run = len(stripped) - len(stripped.lstrip(char))
        if run >= 3 and char not in stripped[run:]:
            return char * run
    return ""


def _closes(line: str, fence: str) -> bool:
    stripped = line.strip()
    return len(stripped) >= len(fence) and not stripped.strip(fence[0])


@dataclass(frozen=True, slots=True)
class Edit:
    """One search/replace edit: `search` must stand exactly once in the text."""

    search: str
    replace: str


def parse_edits(reply: str) -> list[Edit]:
    """Read blocks `<<<<<<< SEARCH` ... `=======` ... `>>>>>>> REPLACE` out of a reply; none gives an empty list."""
    edits: list[Edit] = []
    state, search, replace = "", [], []  # type: str, list[str], list[str]
    for line in reply.splitlines():
        mark = line.strip()
        if mark == "<<<<<<< SEARCH":
            state, search, replace = "search", [], []
        elif mark == "=======" and state == "search":
            state = "replace"
        elif mark == ">>>>>>> REPLACE" and state == "replace":
            edits.append(Edit("\n".join(search), "\n".join(replace)))
            state = ""
        elif state:
            (search if state == "search" else replace).append(line)
    if state:
        raise Rejected("an edit block is never closed; end each with a line '>>>>>>> REPLACE'")
    return edits


def apply_edits(text: str, edits: Sequence[Edit]) -> str:
    """Apply the edits in order. Raises Rejected naming the edit whose search text stands nowhere or more than once."""
    for number, edit in enumerate(edits, 1):
        found = text.count(edit.search) if edit.search else 0
        if found != 1:
            where = "stands nowhere in the text" if not found else f"stands {found} times in the text"
            raise Rejected(f"edit {number}: its SEARCH part {where}; copy a passage that stands there exactly once")
        text = text.replace(edit.search, edit.replace)
    return text
