from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Sequence

import pytest

from engines.gepa import Gepa
from skynet.engine import Content, Evaluation, RunStop, TaskCase, Version

from .hash_seeds import printed_over_hash_seeds
from .host import Books, ScriptedModels, run
from .rules import add_rule, rules_task, score_rules

SCRIPT = """
from engines.{module} import {engine}
from tests.engines.host import Books, ScriptedModels, fingerprint, run
from tests.engines.rules import add_rule, labelled_task, rules_task, score_rules, score_sentiment
task, score = {task}
books, models = Books(task, score, 300), ScriptedModels(add_rule)
run({engine}(), task, books, models, **{options})
assert len(books.calls) > 5
print(fingerprint(books, models))
"""
PARTS = "rules_task(start={'head': 'Answer.', 'foot': 'Close.', 'mid': 'Then.'}), score_rules"


@pytest.mark.parametrize(
    ("module", "engine", "task", "options"),
    [
        ("gepa", "Gepa", PARTS, "{}"),
        ("best_of_n", "BestOfN", PARTS, "{'n': 4}"),
        ("demos", "Demos", "labelled_task(), score_sentiment", "{'labels': True}"),
    ],
    ids=["gepa", "best_of_n", "demos"],
)
def test_the_calls_are_the_same_over_hash_seeds(module: str, engine: str, task: str, options: str) -> None:
    script = SCRIPT.format(module=module, engine=engine, task=task, options=options)
    prints = printed_over_hash_seeds(script)
    assert len(prints) == 1


def test_a_replay_with_everything_known_asks_for_the_same_and_pays_nothing() -> None:
    task = rules_task()
    first, models = Books(task, score_rules, 120), ScriptedModels(add_rule)
    run(Gepa(), task, first, models)
    asked = len(first.calls) - 1  # the last call is the one that the budget stopped

    class Replay(Books):
        def _step(self, paid: int) -> None:
            self.paid += paid
            if len(self.calls) == asked:
                raise RunStop("as far as the first")

    second, again = Replay(task, score_rules, 10**6, known=dict(first.known)), ScriptedModels(add_rule)
    run(Gepa(), task, second, again)
    assert second.calls == first.calls[:asked]
    assert again.prompts == models.prompts[: len(again.prompts)]
    assert second.paid == 0


class Forgetful(Books):
    """Books that keep nothing, so that what grows from step to step is the engine's."""

    def propose(self, content: Content, parent: Version | None, note: str = "") -> Version:
        version = super().propose(content, parent, note)
        self.versions = {self.task.start.id: self.task.start}
        self.calls.clear()
        return version

    def evaluate(self, version: Version, cases: Sequence[TaskCase]) -> list[Evaluation]:
        return [score_rules("", case) for case in cases]

    def _step(self, paid: int) -> None:
        return


def test_a_step_whose_proposal_scores_no_better_leaves_nothing_behind() -> None:
    held: dict[int, int] = {}
    step = 0

    def reply(prompt: str, number: int) -> str:
        nonlocal step
        step += 1
        models.prompts.clear()
        models.temperatures.clear()
        if step in (100, 400):
            gc.collect()
            held[step] = tracemalloc.get_traced_memory()[0]
        return f"Text {step:05}"

    models = ScriptedModels(reply)
    task = rules_task()
    tracemalloc.start()
    try:
        run(Gepa(), task, Forgetful(task, score_rules), models, max_proposals=400)
    finally:
        tracemalloc.stop()
    assert held[400] - held[100] < 100 * 300  # bytes; gepa's own trace alone takes several hundred a step
