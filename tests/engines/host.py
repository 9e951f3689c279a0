"""A host in memory for engines: books, budget, rejections and scripted models, by the rules of `skynet.engine`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any

from skynet.engine import (
    Artifact,
    Content,
    Evaluation,
    LaneConverged,
    Message,
    ModelFailed,
    ModelReply,
    Rejected,
    Rollout,
    RunStop,
    SearchTask,
    TaskCase,
    Version,
)

IDLE_STEPS = 20

Score = Callable[[Content, TaskCase], Evaluation]
Reply = Callable[[str, int], str | ModelReply]  # prompt and how-manyth request -> reply


@dataclass
class Books:
    """An evaluator whose scores come from a function; `calls` is everything that an engine asked for, in order.

    Each case takes as many metric calls as the task has repeats.
    """

    task: SearchTask
    score: Score
    budget: int = 1000
    paid: int = 0
    idle: int = 0
    calls: list[tuple[str, ...]] = field(default_factory=list)
    versions: dict[str, Version] = field(default_factory=dict)
    rejected: list[str] = field(default_factory=list)
    known: dict[tuple[str, str], Evaluation] = field(default_factory=dict)
    lanes: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    in_lane: bool = False
    stop: BaseException = field(default_factory=lambda: RunStop("budget_metric_calls"))

    def __post_init__(self) -> None:
        self.versions[self.task.start.id] = self.task.start

    @property
    def remaining(self) -> int:
        return self.budget - self.paid

    def propose(self, content: Content, parent: Version | None, note: str = "") -> Version:
        version = Version(Artifact(self.task.kind, content), parent.id if parent else None, note)
        self.calls.append(("propose", version.id, note))
        self._step(paid=0)
        fault = self.task.check(content)
        if version.artifact.blank:
            fault = "it is empty"
        elif version.id in self.versions:
            same = parent is not None and version.id == parent.id
            fault = "it is identical to the text that it came from" if same else "it was tried before"
        if fault:
            self.rejected.append(fault)
            raise Rejected(fault)
        self.versions[version.id] = version
        return version

    def reject(self, reply: str, reason: str) -> None:
        self.calls.append(("reject", reply, reason))
        self.rejected.append(reason)
        self._step(paid=0)

    def evaluate(self, version: Version, cases: Sequence[TaskCase]) -> list[Evaluation]:
        ids = [case.id for case in cases]
        assert version.id in self.versions, "only versions that were put forward may be evaluated"
        assert len(set(ids)) == len(ids), "one case was asked for twice in one batch"
        self.calls.append(("evaluate", version.id, *ids))
        unknown = [case for case in cases if (version.id, case.id) not in self.known]
        cost = len(unknown) * self.task.repeats
        if cost > self.remaining:
            raise self.stop
        self._step(paid=cost)
        for case in unknown:
            self.known[version.id, case.id] = self.score(version.content, case)
        return [self.known[version.id, case.id] for case in cases]

    def rollout(
        self, content: Version | Content, case: TaskCase, occurrence: int = 0, repetition: int = 0
    ) -> AbstractContextManager[Rollout]:
        raise NotImplementedError("these engines run nothing themselves")

    @contextmanager
    def lane(self, name: str) -> Iterator[None]:
        self.lanes.append(name)
        self.in_lane, self.idle = True, 0
        try:
            yield
        finally:
            self.in_lane, self.idle = False, 0

    def note(self, text: str) -> None:
        self.notes.append(text)

    def value(self, version: Version) -> float | None:
        """The mean on val of a version that was tried on all of it, else None."""
        found = [self.known.get((version.id, case.id)) for case in self.task.val]
        tried = [evaluation.value for evaluation in found if evaluation is not None]
        return sum(tried) / len(tried) if len(tried) == len(found) else None

    @property
    def best(self) -> Version:
        complete = [version for version in self.versions.values() if self.value(version) is not None]
        return max(complete, key=lambda version: self.value(version) or 0.0)

    def _step(self, paid: int) -> None:
        self.paid += paid
        self.idle = 0 if paid else self.idle + 1
        if self.idle > 3 * IDLE_STEPS:  # a step of an engine is up to three calls of the doors
            raise LaneConverged("converged") if self.in_lane else RunStop("converged")


@dataclass
class ScriptedModels:
    """Models whose reflection replies come from a function; an Exception in place of a reply is raised."""

    reply: Reply
    prompts: list[str] = field(default_factory=list)
    temperatures: list[float | None] = field(default_factory=list)
    roles: frozenset[str] = frozenset({"task", "reflection", "metric"})

    def has(self, role: str) -> bool:
        return role in self.roles

    def complete(
        self,
        messages: Sequence[Message],
        *,
        role: str = "reflection",
        temperature: float | None = None,
        max_tokens: int | None = None,
    ) -> str:
        return self.ask({"messages": messages, "temperature": temperature}, role).text

    def ask(self, request: Mapping[str, Any], role: str = "reflection") -> ModelReply:
        prompt = "\n".join(message["content"] for message in request["messages"])
        self.prompts.append(prompt)
        self.temperatures.append(request.get("temperature"))
        reply = self.reply(prompt, len(self.prompts))
        return ModelReply(reply) if isinstance(reply, str) else reply


def failing(cause: str) -> Reply:
    """A model whose provider never answers."""

    def reply(prompt: str, number: int) -> str:
        raise ModelFailed(cause)

    return reply


def fingerprint(books: Books, models: ScriptedModels) -> str:
    """A hash over all that an engine asked of its host, in order."""
    blob = json.dumps([books.calls, models.prompts], ensure_ascii=True)
    return hashlib.sha256(blob.encode()).hexdigest()


def make_cases(prefix: str, count: int, **columns: Callable[[int], Any]) -> tuple[TaskCase, ...]:
    """Cases with ids `prefix0`, `prefix1` ... whose columns are functions of the number."""
    return tuple(
        TaskCase(f"{prefix}{number}", {name: value(number) for name, value in columns.items()})
        for number in range(count)
    )


def run(engine: Any, task: SearchTask, books: Books, models: ScriptedModels, **options: Any) -> str:
    """Search, and return what ended it: `done` or the words of the stop."""
    try:
        engine.search(task, books, models, engine.Options(**options))
    except (RunStop, LaneConverged) as stop:
        return str(stop)
    return "done"
