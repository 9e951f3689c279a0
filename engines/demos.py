"""The engine `demos`: which solved train cases, how many and in what order, make a chat score best on val."""

from __future__ import annotations

from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field, model_validator

from skynet.engine import Models, SearchBroken, SearchEvaluator, SearchTask

from .chat import find_layout
from .demo_search import DemoSearch, race_cost
from .demonstrations import Demonstration, from_labels, from_outputs

GATHER_SHARE = 0.25  # of the budget, at most, for outputs of the start on train cases
POOL_SIZE = 4  # times max_demos: so many outputs are enough
RACE_SHARE = 0.6  # of the budget for random sets; the rest goes to changes of the best one
RACE_SETS = 32  # random sets at most


class DemosOptions(BaseModel):
    """Options of `demos`.

    `labels`: take the expected values of train as answers, else the start's own outputs. `threshold`: the score that
    such an output needs, None for the maximum. `min_demos`, `max_demos`: sizes of a set. `candidates`: random sets in
    the race, as far as the budget buys them; None for what a share of it buys.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    labels: bool = False
    threshold: float | None = None
    min_demos: int = Field(default=1, ge=1)
    max_demos: int = Field(default=6, ge=1)
    candidates: int | None = Field(default=None, ge=1)

    @model_validator(mode="after")
    def _ordered(self) -> DemosOptions:
        if self.min_demos > self.max_demos:
            raise ValueError(f"min_demos ({self.min_demos}) is above max_demos ({self.max_demos})")
        return self


class Demos:
    """Races random sets of demonstrations over growing parts of val, then changes the winner step by step.

    Demonstrations are user and assistant turns before the input. The sets of the race differ in size and are balanced
    over the answers; after a quarter and after half of val the better half of them goes on, so about twice as many
    can start as could be run to the end. Then one change at a time is made to the best set (swap, add, drop, move): a
    change that is behind on the first half of val ends there, one that gains on all of val, or holds the score with
    fewer demonstrations, is kept. The search ends at the maximum, after eight changes without a gain, or with the
    budget. Every choice follows from the task's seed.
    """

    name: ClassVar[str] = "demos"
    Options: ClassVar[type] = DemosOptions

    def applies(self, task: SearchTask, models: Models, options: DemosOptions) -> str | None:
        """Return why the engine cannot work on the task, or None."""
        if task.target != "chat" or task.kind != "text":
            return f"demos writes turns of a chat; the target is {task.target} and the artifact's kind {task.kind}"
        if not task.train:
            return "demos shows solved train cases, and there are none"
        if task.labelled_train and task.output_column is None:
            return "demos shows one text as the answer; map exactly one column under [data] outputs"
        try:
            find_layout(str(task.start.content), _columns(task))
        except ValueError as fault:
            return f"demos cannot place demonstrations: {fault}"
        return None

    def estimate(self, task: SearchTask, budget: int, options: DemosOptions) -> int:
        """Return about how many sets are tried: those of the race, and one for each val pass that is left then."""
        left = _search_cases(task, task.cases_for(budget), options)
        if left < len(task.val):
            return 0
        sets = _race_size(task, left, options)
        return sets + (left - race_cost(len(task.val), sets)) // len(task.val)

    def search(self, task: SearchTask, evaluator: SearchEvaluator, models: Models, options: DemosOptions) -> None:
        """Gather, race, change. Raises SearchBroken when no demonstration can be had."""
        cases = task.cases_for(evaluator.remaining)
        pool = _gather(task, evaluator, cases, options)
        if not pool:
            raise SearchBroken(_no_demonstrations(task, options), reason="error")
        layout = find_layout(str(task.start.content), _columns(task))
        search = DemoSearch(task, evaluator, layout, pool, (options.min_demos, options.max_demos))
        search.race(_race_size(task, _search_cases(task, cases, options), options))
        search.climb()


def _columns(task: SearchTask) -> list[str]:
    return list(dict.fromkeys(name for case in task.train for name in case.input))


def _gather(task: SearchTask, evaluator: SearchEvaluator, cases: int, options: DemosOptions) -> list[Demonstration]:
    columns = _columns(task)
    layout = find_layout(str(task.start.content), columns)
    if options.labels:
        return from_labels(task, layout, columns)
    threshold, wanted = _threshold(task, options), POOL_SIZE * options.max_demos
    most = _gather_cases(task, cases)
    return from_outputs(task, evaluator, layout, columns, threshold=threshold, wanted=wanted, most=most)


def _threshold(task: SearchTask, options: DemosOptions) -> float:
    return task.maximum if options.threshold is None else options.threshold


def _gather_cases(task: SearchTask, cases: int) -> int:
    return min(len(task.train), max(1, int(cases * GATHER_SHARE)))


def _search_cases(task: SearchTask, cases: int, options: DemosOptions) -> int:
    return cases if options.labels else cases - _gather_cases(task, cases)


def _race_size(task: SearchTask, cases: int, options: DemosOptions) -> int:
    most, allowance = (options.candidates, cases) if options.candidates else (RACE_SETS, int(RACE_SHARE * cases))
    return max((sets for sets in range(1, most + 1) if race_cost(len(task.val), sets) <= allowance), default=1)


def _no_demonstrations(task: SearchTask, options: DemosOptions) -> str:
    if options.labels and not task.labelled_train:
        return "demos runs with labels = true, but no train case has an expected value; map [data] outputs"
    if options.labels:
        return (
            f"none of the {len(task.labelled_train)} labelled train cases can be shown: its text has a line that would "
            f"open a turn or a placeholder, or its {task.output_column!r} is empty"
        )
    return (
        f"none of the start's outputs on train scored {_threshold(task, options):g} or more, so nothing can be shown; "
        "lower `threshold`, or set `labels = true` to show the expected values of train"
    )
