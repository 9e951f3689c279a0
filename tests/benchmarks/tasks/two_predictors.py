"""A DSPy program of two predictors: one sorts an item by its mark, the other names the colour of that kind."""

from __future__ import annotations

import math
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from engines.auto import Auto
from engines.dspy import Dspy
from skynet.engine import Engine, Evaluation, LaneStop, RunStop, SearchBroken, TaskCase, Version
from tests.engines.programs import ProgramBooks, ProgramModels, filled, programs_task

from .bench import Row, chance

PROGRAM = '''
import dspy

class Two(dspy.Module):
    def __init__(self):
        super().__init__()
        self.sort = dspy.Predict("text -> kind")
        self.paint = dspy.Predict("text, kind -> colour")

    def forward(self, text):
        kind = self.sort(text=text).kind
        return dspy.Prediction(colour=self.paint(text=text, kind=kind).colour)

program = Two()
'''
KINDS = {"p": "alpha", "q": "beta", "r": "gamma", "s": "delta", "t": "beta", "u": "gamma"}
COLOURS = {"alpha": "red", "beta": "blue", "gamma": "green", "delta": "white"}
KNOWN = ("p", "r", "alpha", "beta")  # what the task model knows by itself of marks and kinds
LUCK = 4  # it also guesses right on one item in so many
RULES = [
    *(f"mark {mark} means {kind}" for mark, kind in KINDS.items()),
    *(f"{kind} is {colour}" for kind, colour in COLOURS.items()),
]
NAME = "two predictors (dspy)"
BUDGET = 400
SEEDS = 3
OPTIMIZERS = ("BootstrapFewShotWithRandomSearch", "COPRO", "GEPA", "MIPROv2", "SIMBA")


def measure_programs() -> list[Row]:
    """Run dspy with each of the label-blind optimizers, then auto."""
    single: list[tuple[str, Engine, dict[str, Any]]] = [
        (f"dspy {name}", Dspy(), {"optimizer": name}) for name in OPTIMIZERS
    ]
    return [_row(*entrant) for entrant in (*single, ("auto", Auto(), {}))]


def _row(title: str, engine: Engine, options: dict[str, Any]) -> Row:
    found = [_reached(engine, options, seed) for seed in range(SEEDS)]
    score, start, calls, requests = (math.fsum(column) / SEEDS for column in zip(*found, strict=True))
    return Row(NAME, BUDGET, title, score, start, calls, requests)


def _reached(engine: Engine, options: dict[str, Any], seed: int) -> tuple[float, float, int, int]:
    with tempfile.TemporaryDirectory() as folder:
        task = replace(programs_task(Path(folder), PROGRAM), train=_cases("t", 24), val=_cases("v", 18), seed=seed)
        books, models = MarkBooks(task, BUDGET, judge), MarkModels(task_reply=answer)
        try:
            engine.search(task, books, models, engine.Options(**options))
        except (RunStop, LaneStop, SearchBroken) as end:
            books.ended = str(end)
    start = books.mean(task.start) or 0.0
    asked = sum(role == "reflection" for role, _ in models.requests)
    return max(books.best, start), start, len(books.asked), asked


def _cases(prefix: str, count: int) -> tuple[TaskCase, ...]:
    marks = list(KINDS)
    return tuple(
        TaskCase(f"{prefix}{number}", {"text": f"item {prefix}{number} of mark {marks[number % len(marks)]}"})
        for number in range(count)
    )


def _mark(text: str) -> str:
    return str(re.findall(r"of mark (\w)", text)[-1])


def judge(output: Any, case: TaskCase) -> tuple[float, str]:
    """The metric: the exact colour, and feedback that names both rules."""
    mark = _mark(case.input["text"])
    kind = KINDS[mark]
    right = str(output).strip() == COLOURS[kind]
    return float(right), "Right." if right else f"Wrong: mark {mark} means {kind}, and {kind} is {COLOURS[kind]}."


def answer(text: str, request: dict[str, Any]) -> str:
    """The task model: it knows what is in `KNOWN`, what instructions or demonstrations say, and now and then it guesses
    right, so that a program can be its own teacher."""
    *before, last = [str(message["content"]) for message in request["messages"]]
    sorting = "`kind`" in text.split("Your output fields are:")[1].split("All interactions")[0]
    asked = _mark(last) if sorting else re.findall(r"## kind ## \]\]\s*(\w+)", last)[-1]
    truth = (KINDS if sorting else COLOURS).get(asked, "red")
    rule = f"mark {asked} means {truth}" if sorting else f"{asked} is {truth}"
    shown = any(f"of mark {asked}" in turn if sorting else f"## kind ## ]]\n{asked}" in turn for turn in before[1:])
    known = rule in text or shown or _knows(re.findall(r"item (\w+)", last)[-1], asked, truth)
    return filled(text, truth if known else ("alpha" if sorting else "red"))


def _knows(item: str, asked: str, truth: str) -> bool:
    return asked in KNOWN or chance(item, asked, truth) < 1 / LUCK


class MarkModels(ProgramModels):
    """A proposer that writes down the rules that it reads, and one of its own where it reads none."""

    def _proposal(self, text: str) -> str:
        with self.lock:
            self.proposals += 1
            number = self.proposals
        read = [rule for rule in RULES if rule in text] or [RULES[number % len(RULES)]]
        return filled(text, f"Do it well, try {number}: {', '.join(read)}.")


@dataclass
class MarkBooks(ProgramBooks):
    """Books that know how the start does on val, and the lanes of auto."""

    notes: list[str] = field(default_factory=list)
    ended: str = ""

    @cached_property
    def start_scores(self) -> dict[str, float]:
        """How the start does on each val case: the same two answers that its predictors would get."""
        scores: dict[str, float] = {}
        for case in self.task.val:
            item, mark = case.id, _mark(case.input["text"])
            kind = KINDS[mark] if _knows(item, mark, KINDS[mark]) else "alpha"
            colour = COLOURS[kind] if _knows(item, kind, COLOURS[kind]) else "red"
            scores[case.id] = judge(colour, case)[0]
        return scores

    def _of_start(self, case: TaskCase) -> Evaluation:
        score = self.start_scores[case.id]
        return Evaluation(self.task.start.id, case.id, 0, "val", "ok", score, score, scores={"exact": score})

    def mean(self, version: Version) -> float | None:
        if version.id == self.task.start.id:
            return math.fsum(self.start_scores.values()) / len(self.task.val)
        return super().mean(version)

    @contextmanager
    def lane(self, name: str) -> Iterator[None]:
        self.notes.append(name)
        try:
            yield
        except RunStop as stop:
            raise LaneStop(str(stop)) if str(stop) == "converged" else stop from None

    def note(self, text: str) -> None:
        self.notes.append(text)
