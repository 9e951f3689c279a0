from __future__ import annotations

from typing import Any

import pytest

from engines.best_of_n import BestOfN, BestOfNOptions
from skynet.engine import LaneStop, SearchBroken, SearchTask

from .host import Books, Reply, ScriptedModels, failing, fingerprint, run
from .rules import add_rule, rules_task, score_rules


def search(
    reply: Reply = add_rule, budget: int = 400, task: SearchTask | None = None, **options: Any
) -> tuple[str, Books, ScriptedModels]:
    task = task or rules_task()
    books, models = Books(task, score_rules, budget), ScriptedModels(reply)
    return run(BestOfN(), task, books, models, **options), books, models


def number_rules(prompt: str, number: int) -> str:
    return f"```\nText {number}: {'greet first' if number == 3 else ''}\n```"


def test_each_sample_comes_from_the_start_and_is_evaluated_on_all_of_val() -> None:
    ended, books, _ = search(number_rules, n=4)
    assert ended == "done"
    samples = [version for version in books.versions.values() if version.id != books.task.start.id]
    assert len(samples) == 4
    assert {version.parent for version in samples} == {books.task.start.id}
    assert all(books.value(version) is not None for version in samples)
    assert str(books.best.content).startswith("Text 3")


def test_the_prompts_show_the_starts_records_and_are_the_same_while_nothing_is_rejected() -> None:
    _, _, models = search(number_rules, n=3, records=2)
    assert len(set(models.prompts)) == 1
    assert models.prompts[0].count("## Case") == 2
    assert "SECRET" not in models.prompts[0]


def test_the_temperature_reaches_the_model() -> None:
    _, _, models = search(number_rules, n=2, temperature=0.7)
    assert models.temperatures == [0.7, 0.7]


def test_without_n_the_samples_last_as_long_as_the_budget() -> None:
    ended, books, _ = search(number_rules, budget=45)
    assert ended == "budget_metric_calls"
    assert books.paid == 43  # 3 records and 4 val passes
    assert BestOfN().estimate(books.task, 45, BestOfNOptions()) == 4


def test_with_repeats_the_budget_buys_as_many_fewer() -> None:
    ended, books, _ = search(number_rules, budget=3 * 45 + 2, task=rules_task(repeats=3))
    assert ended == "budget_metric_calls"
    assert books.paid == 3 * 43
    assert BestOfN().estimate(books.task, 3 * 45 + 2, BestOfNOptions()) == 4


def test_every_part_of_a_parts_artifact_is_rewritten() -> None:
    _, books, models = search(number_rules, task=rules_task(start={"head": "Answer.", "foot": "Close."}), n=1)
    assert len(models.prompts) == 2
    assert list(books.versions.values())[1].content == {"head": "Text 1: ", "foot": "Text 2: "}


def test_a_text_seen_before_is_not_evaluated_and_the_proposer_is_told() -> None:
    _, books, models = search(lambda prompt, number: "```\nAlways this.\n```", n=3)
    assert books.paid == 3 + 10
    assert "it was tried before" in models.prompts[2]


@pytest.mark.parametrize("reply", ["Always this.", "```\none\n```\n```\ntwo\n```", "```\nnever closed", "```\n```"])
def test_a_reply_that_brings_nothing_new_each_time_ends_by_the_hosts_idle_guard(reply: str) -> None:
    ended, _, models = search(lambda prompt, number: reply)
    assert ended == "converged"
    assert len(models.prompts) < 70


@pytest.mark.parametrize("reply", [failing("403 no credit"), lambda prompt, number: ""])
def test_five_failed_requests_in_a_row_break_the_search(reply: Reply) -> None:
    with pytest.raises(SearchBroken, match="5 times in a row"):
        search(reply)


def test_a_stop_passes() -> None:
    task = rules_task()
    books = Books(task, score_rules, 5, stop=LaneStop("lane over"))
    with pytest.raises(LaneStop):
        BestOfN().search(task, books, ScriptedModels(number_rules), BestOfNOptions())


def test_two_runs_from_one_task_are_the_same() -> None:
    task = rules_task()
    assert len({fingerprint(*search(number_rules, task=task, n=5)[1:]) for _ in range(2)}) == 1


def test_it_says_that_it_needs_a_reflection_model() -> None:
    models = ScriptedModels(add_rule, roles=frozenset({"task"}))
    assert "best_of_n needs a reflection model" in str(BestOfN().applies(rules_task(), models, BestOfNOptions()))
