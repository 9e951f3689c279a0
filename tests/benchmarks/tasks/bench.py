"""Running every engine on a task in memory: what each finds within the same budget, judged on cases it never saw."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points

from skynet.engine import Content, Engine, SearchTask
from tests.engines.host import Books, Reply, Score, ScriptedModels, run

FIRST_SEED = 1000  # the constants of auto were chosen on the seeds below 24; here it is judged on others


@dataclass(frozen=True)
class Instance:
    """One drawing of a task. `truth` is the mean on held-out cases, without noise."""

    task: SearchTask
    score: Score
    reply: Reply
    truth: Callable[[Content], float]


@dataclass(frozen=True)
class Bench:
    """A task that is drawn anew for each seed; every engine gets `budget` metric calls after the start's val pass."""

    name: str
    make: Callable[[int], Instance]
    budget: int
    seeds: int = 10


@dataclass(frozen=True)
class Row:
    """What one engine reached on a task: means over the seeds; a `reason` in place of numbers where it cannot run."""

    task: str
    budget: int
    engine: str
    score: float | None = None
    start: float = 0.0
    calls: float = 0.0
    requests: float = 0.0
    reason: str = ""


def chance(*parts: object) -> float:
    """A number from 0 to below 1 that follows from the parts alone."""
    digest = hashlib.sha256("|".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


def engines() -> dict[str, Engine]:
    """Every installed engine by name, `auto` last."""
    found = {point.name: point.load()() for point in entry_points(group="skynet.engines")}
    return dict(sorted(found.items(), key=lambda item: (item[0] == "auto", item[0])))


def measure(bench: Bench) -> list[Row]:
    """Run every engine on every drawing of the task."""
    return [_row(bench, name, engine) for name, engine in engines().items()]


def _row(bench: Bench, name: str, engine: Engine) -> Row:
    drawn = [bench.make(FIRST_SEED + number) for number in range(bench.seeds)]
    models = ScriptedModels(drawn[0].reply)
    if (reason := engine.applies(drawn[0].task, models, engine.Options())) is not None:
        return Row(bench.name, bench.budget, name, reason=reason)
    found = [_reached(instance, engine, bench.budget) for instance in drawn]
    score, calls, requests = (math.fsum(column) / len(found) for column in zip(*found, strict=True))
    start = math.fsum(instance.truth(instance.task.start.content) for instance in drawn) / len(drawn)
    return Row(bench.name, bench.budget, name, score, start, calls, requests)


def _reached(instance: Instance, engine: Engine, budget: int) -> tuple[float, int, int]:
    """Return what the best version on val is worth, the metric calls of the search, and the requests to the model."""
    models = ScriptedModels(instance.reply)
    val = len(instance.task.val)
    books = Books(instance.task, instance.score, budget + val)
    books.evaluate(instance.task.start, instance.task.val)
    run(engine, instance.task, books, models)
    return instance.truth(books.best.content), books.paid - val, len(models.prompts)


def shortfall(rows: Sequence[Row]) -> float:
    """Return by what share of the best single engine's score `auto` is worse; negative where it is better."""
    scores = {row.engine: row.score for row in rows if row.score is not None}
    auto = scores.pop("auto")
    best = max(scores.values())
    return (best - auto) / best if best else 0.0


def table(rows: Sequence[Row]) -> str:
    """Return the rows as lines of text, one task after another."""
    lines = [f"{'task':28} {'budget':>6}  {'engine':37} {'score':>6} {'start':>6} {'calls':>7} {'requests':>8}"]
    for row in rows:
        told = (
            row.reason
            if row.score is None
            else (f"{row.score:6.3f} {row.start:6.3f} {row.calls:7.1f} {row.requests:8.1f}")
        )
        lines.append(f"{row.task:28} {row.budget:6}  {row.engine:37} {told}")
    return "\n".join(lines)
