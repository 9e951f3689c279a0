"""Demonstrations for a chat: gathered from labels or from the target's own outputs, and set into the text."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from skynet.engine import LabelledCase, SearchEvaluator, SearchTask, TaskCase

from .chat import Layout, Turn, input_text, join_turns, opens_turn, place, placed_columns, value_text

CHUNK = 8  # train cases run at a time while outputs are gathered


@dataclass(frozen=True, slots=True)
class Demonstration:
    """One solved train case as turns; `case` is its id, `answer` the text of its assistant turn."""

    case: str
    answer: str
    turns: tuple[Turn, ...]


def demonstrate(
    case: TaskCase | LabelledCase, answer: str, layout: Layout, columns: Sequence[str]
) -> Demonstration | None:
    """Return the case as the model would see it, with its answer.

    None when its data cannot stand in an artifact: a line of it would open a turn, a placeholder in it would be
    replaced by every other case's input, or there is no answer to show.
    """
    asked = [Turn(turn.role, place(turn.text, case.input)) for turn in layout.block]
    turns = (*(asked or [Turn("user", input_text(case.input))]), Turn("assistant", answer))
    if not answer.strip() or not turns[-2].text.strip():
        return None
    if any(opens_turn(turn.text) or placed_columns(turn.text, columns) for turn in turns):
        return None
    return Demonstration(case.id, answer, turns)


def write_chat(layout: Layout, chosen: Sequence[Demonstration]) -> str:
    """Return the text with the demonstrations before its input."""
    shown = [turn for demonstration in chosen for turn in demonstration.turns]
    return join_turns([*layout.head, *shown, *layout.block])


def from_labels(task: SearchTask, layout: Layout, columns: Sequence[str]) -> list[Demonstration]:
    """Return a demonstration for each labelled train case that has the output column and can stand in the text."""
    found: list[Demonstration] = []
    for case in task.labelled_train:
        value = case.expected.get(task.output_column) if task.output_column else None
        if value is not None and (shown := demonstrate(case, value_text(value), layout, columns)):
            found.append(shown)
    return found


def from_outputs(
    task: SearchTask,
    evaluator: SearchEvaluator,
    layout: Layout,
    columns: Sequence[str],
    *,
    threshold: float,
    wanted: int,
    most: int,
) -> list[Demonstration]:
    """Run the start on train cases in seeded order, until `wanted` outputs scored enough; `most` cases at most."""
    order = random.Random(task.seed).sample(task.train, len(task.train))[: max(1, most)]
    found: list[Demonstration] = []
    for begin in range(0, len(order), CHUNK):
        cases = order[begin : begin + CHUNK]
        for case, evaluation in zip(cases, evaluator.evaluate(task.start, cases), strict=True):
            good = evaluation.score is not None and evaluation.score >= threshold
            if good and (shown := demonstrate(case, value_text(evaluation.output), layout, columns)):
                found.append(shown)
        if len(found) >= wanted:
            break
    return found


def balanced(pool: Sequence[Demonstration], size: int, rng: random.Random) -> tuple[int, ...]:
    """Draw `size` places of the pool in random order, over as many different answers as evenly as they allow."""
    groups: dict[str, list[int]] = {}
    for place_in_pool, demonstration in enumerate(pool):
        groups.setdefault(demonstration.answer, []).append(place_in_pool)
    queues = [rng.sample(group, len(group)) for group in groups.values()]
    rng.shuffle(queues)
    drawn: list[int] = []
    while len(drawn) < size and queues:
        drawn.extend(queue.pop() for queue in queues[: size - len(drawn)])
        queues = [queue for queue in queues if queue]
    return tuple(rng.sample(drawn, len(drawn)))
