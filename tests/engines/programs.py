"""DSPy programs under a host in memory: books with rollouts, and scripted models that a prompt can teach.

The task: name the colour of an item by its kind. The model knows `alpha` only; it learns a kind from instructions
that say "beta is blue", or from a demonstration of that kind.
"""

from __future__ import annotations

import json
import re
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from engines.dspy import Dspy
from engines.dspy_options import DspyOptions
from skynet.engine import (
    Artifact,
    Content,
    Evaluation,
    LabelledCase,
    Message,
    ModelFailed,
    ModelReply,
    Rejected,
    RunStop,
    SearchBroken,
    SearchTask,
    TaskCase,
    Version,
)
from skynet.target.dspy_program import HostPrograms

COLOURS = {"alpha": "red", "beta": "blue", "gamma": "green"}
ONE = 'import dspy\nprogram = dspy.Predict("text -> colour")\n'
CANARY = "CANARY"
IDLE_STEPS = 20

current_place: ContextVar[str] = ContextVar("current_place", default="")


def kind(number: int) -> str:
    return list(COLOURS)[number % 3]


def make_cases(prefix: str, count: int) -> tuple[TaskCase, ...]:
    return tuple(TaskCase(f"{prefix}{n}", {"text": f"item {prefix}{n} of kind {kind(n)}"}) for n in range(count))


def programs_task(
    folder: Path, program: str = ONE, *, train: int = 12, val: int = 6, labels: str = "", **changes: Any
) -> SearchTask:
    """The task. `labels` are "canary" or "true"; `changes` are fields of SearchTask."""
    path = folder / "program.py"
    path.write_text(program, encoding="utf-8")
    programs = HostPrograms(path, ("colour",))
    fresh = programs._file.fresh()
    cases = make_cases("t", train)
    answers = {case.id: f"{CANARY}-{case.id}" if labels == "canary" else colour_of(case) for case in cases}
    task = SearchTask(
        kind="dspy",
        target="dspy",
        start=Version(Artifact("dspy", programs.state(fresh))),
        objective="Name the colour.",
        background="",
        train=cases,
        val=make_cases("v", val),
        seed=0,
        maximum=1.0,
        labelled_train=tuple(
            LabelledCase(case.id, case.input, {"colour": answers[case.id]}) for case in cases if labels
        ),
        output_column="colour",
        program=programs,
        concurrency=4,
    )
    return replace(task, **changes)


def colour_of(case: TaskCase) -> str:
    return COLOURS[case.input["text"].rsplit(" ", 1)[1]]


def judge(output: Any, case: TaskCase) -> tuple[float, str]:
    """The metric: an exact colour, and feedback that names the rule."""
    word = case.input["text"].rsplit(" ", 1)[1]
    right = str(output).strip() == COLOURS[word]
    return float(right), "Right." if right else f"Wrong: {word} is {COLOURS[word]}."


@dataclass
class ProgramRollout:
    """One rollout of the books."""

    books: ProgramBooks
    content: Content
    case: TaskCase
    repetition: int
    evaluation: Evaluation | None = None

    def finish(self, output: Any, trace: Any = None, steps: Any = None) -> Evaluation:
        self.books.scored.append((Artifact("dspy", self.content).id, self.case.id))
        score, feedback = self.books.metric(output, self.case)
        return self._enter(status="ok", value=score, score=score, feedback=feedback, output=output, trace=trace,
                           scores={"exact": score}, steps=steps)  # fmt: skip

    def fail(self, error: Exception, steps: Any = None) -> Evaluation:
        self.books.failed.append(f"{type(error).__name__}: {error}")
        text = self.books.failed[-1]
        return self._enter(status="failed", failure="target", value=-1.0, feedback=text, error=text, steps=steps)

    def _enter(self, **fields: Any) -> Evaluation:
        split = "val" if self.case.id.startswith("v") else "train"
        version = Artifact("dspy", self.content).id
        self.evaluation = Evaluation(version, self.case.id, self.repetition, split, **fields)
        return json_round_trip(self.evaluation)


def json_round_trip(evaluation: Evaluation) -> Evaluation:
    """What a store makes of the steps: a served run must look the same."""
    return replace(evaluation, steps=json.loads(json.dumps(evaluation.steps)))


@dataclass
class ProgramBooks:
    """An evaluator that keeps rollouts by content, case and occurrence, within a budget of metric calls.

    A repetition after the first stands in the books as a case of its own, `v0 again 1`.
    """

    task: SearchTask
    budget: int = 200
    metric: Callable[[Any, TaskCase], tuple[float, str]] = judge
    known: dict[tuple[str, str, int], Evaluation] = field(default_factory=dict)
    asked: set[tuple[str, str, int]] = field(default_factory=set)
    versions: dict[str, Version] = field(default_factory=dict)
    proposed: list[Version] = field(default_factory=list)
    scored: list[tuple[str, str]] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    idle: int = 0
    lock: threading.RLock = field(default_factory=threading.RLock)
    busy: dict[tuple[str, str, int], threading.Event] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.versions[self.task.start.id] = self.task.start

    @property
    def remaining(self) -> int:
        return self.budget - len(self.asked)

    def propose(self, content: Content, parent: Version | None, note: str = "") -> Version:
        version = Version(Artifact("dspy", content), parent.id if parent else None, note)
        with self.lock:
            if version.id in self.versions:
                raise Rejected("seen before")
            self.versions[version.id] = version
            self.proposed.append(version)
        return version

    def reject(self, reply: str, reason: str) -> None:
        raise NotImplementedError("dspy's optimizers read the replies themselves")

    def evaluate(self, version: Version, cases: Sequence[TaskCase]) -> list[Evaluation]:
        """The host's own pass over the start, as its workers ran it: there are no steps in it."""
        assert version.id == self.task.start.id, "programs are run in rollouts"
        return [self._of_start(case) for case in cases]

    def _of_start(self, case: TaskCase) -> Evaluation:
        score = float(colour_of(case) == "red")
        return Evaluation(self.task.start.id, case.id, 0, "val", "ok", score, score, scores={"exact": score})

    @contextmanager
    def lane(self, name: str) -> Iterator[None]:
        yield

    def note(self, text: str) -> None:
        self.notes.append(text)

    @contextmanager
    def rollout(
        self, content: Version | Content, case: TaskCase, occurrence: int = 0, repetition: int = 0
    ) -> Iterator[ProgramRollout]:
        own = content.content if isinstance(content, Version) else content
        name = f"{case.id} again {repetition}" if repetition else case.id
        key = (Artifact("dspy", own).id, name, occurrence)
        self._claim(key)
        rollout = ProgramRollout(self, own, case, repetition, self.known.get(key))
        token = current_place.set(f"{key}")
        try:
            yield rollout
        finally:
            current_place.reset(token)
            with self.lock:
                self.busy.pop(key).set()
        assert rollout.evaluation is not None, "a rollout ends with finish() or fail()"
        rollout.evaluation = self.known[key] = json_round_trip(rollout.evaluation)

    def _claim(self, key: tuple[str, str, int]) -> None:
        while True:
            with self.lock:
                event = self.busy.get(key)
                if event is None:
                    if key not in self.asked and self.remaining <= 0:
                        raise RunStop("budget_metric_calls")
                    self.idle = self.idle + 1 if key in self.asked else 0
                    if self.idle >= IDLE_STEPS:
                        raise RunStop("converged")
                    self.asked.add(key)
                    self.busy[key] = threading.Event()
                    return
            event.wait()

    def mean(self, version: Version) -> float | None:
        """The exact mean on val of a version that was run on all of it."""
        if version.id == self.task.start.id:
            return sum(float(colour_of(case) == "red") for case in self.task.val) / len(self.task.val)
        values = [self.known.get((version.id, case.id, 0)) for case in self.task.val]
        known = [evaluation.value for evaluation in values if evaluation is not None]
        return sum(known) / len(known) if len(known) == len(values) else None

    @property
    def best(self) -> float:
        return max(mean for version in self.versions.values() if (mean := self.mean(version)) is not None)


@dataclass
class ProgramModels:
    """The task model and a proposer; `requests` is everything that they were asked, as text."""

    requests: list[tuple[str, str]] = field(default_factory=list)
    raw: list[dict[str, Any]] = field(default_factory=list)
    roles: frozenset[str] = frozenset({"task", "reflection"})
    broken: str = ""
    task_reply: Callable[[str, dict[str, Any]], str] | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)
    proposals: int = 0

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
        return self.ask({"messages": list(messages)}, role).text

    def ask(self, request: Mapping[str, Any], role: str = "reflection") -> ModelReply:
        text = "\n".join(str(message["content"]) for message in request["messages"])
        with self.lock:
            self.requests.append((role, text))
            self.raw.append({"role": role, "place": current_place.get(), **request})
        if role == "task":
            return ModelReply((self.task_reply or answer)(text, dict(request)), (), "stop", 10, 2)
        if self.broken:
            raise ModelFailed(self.broken)
        return ModelReply(self._proposal(text), (), "stop", 50, 20)

    def _proposal(self, text: str) -> str:
        with self.lock:
            self.proposals += 1
            number = self.proposals
        rules = re.findall(r"(?:beta is blue|gamma is green)", text) or ["gamma is green", "beta is blue"][number % 2 :]
        return filled(text, f"Name the colour, try {number}. " + ". ".join(dict.fromkeys(rules)))


def filled(text: str, words: str) -> str:
    """Fill every output field that the prompt names with words of its kind, in the format that the prompt wants."""
    part = text[text.index("Your output fields are:") :]
    names = re.findall(r"^\d+\. `(\w+)` \(([^)]*)\)", part[: part.index("All interactions")], re.MULTILINE)
    values: dict[str, Any] = {}
    for name, form in names:
        if form.startswith("dict"):
            modules = re.findall(r"Module ([\w.\[\]]+)\n", text)
            values[name] = dict.fromkeys(modules, words)
        else:
            values[name] = "Colour:" if "prefix" in name else words
    if "Outputs will be a JSON object" in text:
        return json.dumps(values)
    told = [f"[[ ## {name} ## ]]\n{v if isinstance(v, str) else json.dumps(v)}" for name, v in values.items()]
    return "\n\n".join([*told, "[[ ## completed ## ]]"])


def answer(text: str, request: dict[str, Any]) -> str:
    """The task model's reply."""
    last = request["messages"][-1]["content"]
    word = re.findall(r"of kind (\w+)", last)[-1]
    shown = [m["content"] for m in request["messages"][:-1] if m["role"] == "user"]
    taught = f"{word} is {COLOURS[word]}" in text or any(f"of kind {word}" in turn for turn in shown)
    if request.get("temperature") == 1.0:
        taught = taught or zlib.crc32(f"{current_place.get()}".encode()) % 2 == 0
    colour = COLOURS[word] if taught or word == "alpha" else "red"
    return filled(text, colour)


def run_dspy(task: SearchTask, books: ProgramBooks, models: ProgramModels, **options: Any) -> str:
    """Search, and return what ended it: `done`, the words of the stop, or what broke."""
    try:
        Dspy().search(task, books, models, DspyOptions(**options))
    except RunStop as stop:
        return str(stop)
    except SearchBroken as broken:
        return f"broken: {broken}"
    return "done"
