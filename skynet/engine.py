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
Message = dict[str, str]  # {"role": "system" | "user" | "assistant", "content": text}


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


class Rollout(Protocol):
    """One case that the engine runs itself. `evaluation` is set at once when the journal already holds it."""

    evaluation: Evaluation | None

    def finish(self, output: Any, trace: Any = None) -> Evaluation:
        """Score the output; called exactly once, and not at all when `evaluation` was already there."""
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


class Models(Protocol):
    """The run's models, metered and within the budget."""

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


class ModelFailed(Exception):
    """A request of the engine that its provider did not answer, after all retries; the text has the cause."""


@dataclass(frozen=True, slots=True)
class SearchTask:
    """What an engine is given. `labelled_train` is empty unless the spec says `labels = true` for this engine."""

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
    program: Callable[[Version], Any] | None = None


class Engine(Protocol):
    """A search strategy. `Options` is a pydantic model; a field `labels: bool` says that it can use labels."""

    name: ClassVar[str]
    Options: ClassVar[type]

    def applies(self, task: SearchTask, models: Models) -> str | None:
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
