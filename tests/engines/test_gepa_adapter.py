from __future__ import annotations

from dataclasses import replace

import pytest

from engines.gepa import Gepa
from engines.gepa_adapter import Adapter
from engines.reflection import Reflection, to_parts
from skynet.engine import Content, Evaluation, TaskCase

from .host import Books, Score, ScriptedModels, run
from .rules import add_rule, rules_task, score_rules


def changed(inner: Score, only: str, **changes: object) -> Score:
    """The score with fields changed in one case."""

    def scored(content: Content, case: TaskCase) -> Evaluation:
        fine = inner(content, case)
        return replace(fine, **changes) if case.id == only else fine  # type: ignore[arg-type]

    return scored


def adapter_of(score: Score) -> Adapter:
    task = rules_task()
    books = Books(task, score)
    return Adapter(task, books, Reflection(task, books, ScriptedModels(add_rule)))


def objective(adapter: Adapter, name: str) -> list[float]:
    task = rules_task()
    batch = adapter.evaluate(list(task.val), to_parts(task.start.content))
    assert batch.objective_scores is not None
    return [scores[name] for scores in batch.objective_scores]


def test_named_scores_that_every_case_has_are_objectives() -> None:
    assert list(adapter_of(score_rules).objectives) == ["brevity", "rules"]


def test_a_named_score_missing_on_one_case_is_no_objective() -> None:
    assert list(adapter_of(changed(score_rules, "v1", scores={"rules": 0.5})).objectives) == ["rules"]


def test_a_failed_case_of_the_start_takes_no_objective_away() -> None:
    adapter = adapter_of(changed(score_rules, "v1", status="failed", score=None, scores={}))
    assert list(adapter.objectives) == ["brevity", "rules"]
    assert objective(adapter, "brevity")[1] == 0.0


def test_an_unmeasured_case_counts_as_the_mean_in_a_front() -> None:
    adapter = adapter_of(changed(score_rules, "v1", status="unmeasured", score=None, scores={}))
    brevity = objective(adapter, "brevity")
    assert brevity[1] == pytest.approx(brevity[0])


def test_the_floor_of_an_objective_is_its_lowest_value_when_that_is_negative() -> None:
    assert adapter_of(changed(score_rules, "v1", scores={"brevity": -3.0})).objectives == {"brevity": -3.0}


def test_a_version_that_leaves_a_named_score_out_leads_no_front_by_it() -> None:
    task = rules_task()
    books = Books(task, lambda content, case: replace(score_rules(content, case), scores={"rules": 1.0}))
    adapter = Adapter(task, books, Reflection(task, books, ScriptedModels(add_rule)))
    books.known.clear()
    books.score = changed(books.score, "v1", scores={})
    assert objective(adapter, "rules") == [0.0] * len(task.val)


def test_no_named_scores_mean_no_objectives() -> None:
    adapter = adapter_of(lambda content, case: replace(score_rules(content, case), scores={}))
    assert adapter.objectives == {}
    assert adapter.evaluate(list(rules_task().val), to_parts("Answer the letter.")).objective_scores is None


def test_named_scores_change_which_version_is_improved() -> None:
    def parents(score: Score) -> list[str | None]:
        task = rules_task()
        books = Books(task, score, 600)
        run(Gepa(), task, books, ScriptedModels(add_rule))
        return [version.parent for version in books.versions.values()]

    without = parents(lambda content, case: replace(score_rules(content, case), scores={}))
    assert parents(score_rules) != without
    assert parents(changed(score_rules, "v1", scores={})) == without
