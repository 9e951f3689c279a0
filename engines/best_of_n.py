"""The engine `best_of_n`: texts written from the start, each independent of the others, and all of them tried."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field

from skynet.engine import Models, Rejected, SearchEvaluator, SearchTask

from .reflection import Record, Reflection, refusal, to_content, to_parts, to_record


class BestOfNOptions(BaseModel):
    """Options of `best_of_n`.

    `n`: texts asked for, None until the budget ends. `temperature`: of the reflection model. `records`: train cases
    of the start that each request shows.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    n: int | None = Field(default=None, ge=1)
    temperature: float = Field(default=1.0, ge=0.0)
    records: int = Field(default=3, ge=1)


class BestOfN:
    """Samples rewritings of the start at a temperature, and evaluates each on val."""

    name: ClassVar[str] = "best_of_n"
    Options: ClassVar[type] = BestOfNOptions

    def applies(self, task: SearchTask, models: Models, options: BestOfNOptions) -> str | None:
        """Return why the engine cannot work on the task, or None."""
        return refusal(task, models, self.name)

    def estimate(self, task: SearchTask, budget: int, options: BestOfNOptions) -> int:
        """Return how many proposals fit after the start's records: each costs one val pass."""
        fit = max(0, task.cases_for(budget) - min(options.records, len(task.train))) // max(1, len(task.val))
        return min(fit, options.n) if options.n else fit

    def search(self, task: SearchTask, evaluator: SearchEvaluator, models: Models, options: BestOfNOptions) -> None:
        """Ask, put forward, evaluate. Raises SearchBroken when reflection keeps failing."""
        reflection = Reflection(task, evaluator, models, temperature=options.temperature)
        records = _start_records(task, evaluator, options.records)
        asked = 0
        while options.n is None or asked < options.n:
            asked += 1
            _try_one(task, evaluator, reflection, records, asked)


def _start_records(task: SearchTask, evaluator: SearchEvaluator, count: int) -> list[Record]:
    cases = random.Random(task.seed).sample(task.train, min(count, len(task.train)))
    return [to_record(*pair) for pair in zip(cases, evaluator.evaluate(task.start, cases), strict=True)]


def _try_one(
    task: SearchTask, evaluator: SearchEvaluator, reflection: Reflection, records: Sequence[Record], number: int
) -> None:
    parts = to_parts(task.start.content)
    rewritten = {
        part: reflection.rewrite(part, text, records, {name: other for name, other in parts.items() if name != part})
        for part, text in parts.items()
    }
    texts = {part: text for part, text in rewritten.items() if text is not None}
    if not texts:
        return
    try:
        version = evaluator.propose(to_content({**parts, **texts}, task), task.start, f"sample {number}")
    except Rejected as rejected:
        for part, text in texts.items():
            reflection.reject(part, text, str(rejected))
        return
    evaluator.evaluate(version, task.val)
