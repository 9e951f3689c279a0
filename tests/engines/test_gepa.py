from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from engines.gepa import Gepa, GepaOptions
from skynet.engine import Content, Evaluation, LaneStop, RunStop, SearchBroken, SearchTask, TaskCase, Version

from .host import Books, Reply, Score, ScriptedModels, failing, fingerprint, run
from .rules import RULES, add_rule, rules_task, score_rules


def search(
    reply: Reply = add_rule,
    budget: int = 400,
    task: SearchTask | None = None,
    score: Score = score_rules,
    **options: Any,
) -> tuple[str, Books, ScriptedModels]:
    task = task or rules_task()
    books, models = Books(task, score, budget), ScriptedModels(reply)
    return run(Gepa(), task, books, models, **options), books, models


def test_gepa_finds_all_hidden_rules_from_the_feedback() -> None:
    _, books, _ = search()
    assert books.value(books.best) == 1.0
    assert books.value(books.task.start) == 0.0


def test_the_search_ends_with_the_hosts_stop_and_within_the_budget() -> None:
    ended, books, _ = search(budget=40)
    assert ended == "budget_metric_calls"
    assert books.paid <= 40


def test_each_accepted_version_names_the_one_it_came_from() -> None:
    _, books, _ = search()
    proposed = [version for version in books.versions.values() if version.id != books.task.start.id]
    assert proposed
    assert all(version.parent in books.versions for version in proposed)


def test_parts_are_rewritten_one_at_a_time_and_together_hold_the_rules() -> None:
    _, books, models = search(task=rules_task(start={"head": "Answer.", "foot": "Close."}), budget=600)
    assert books.value(books.best) == 1.0
    assert isinstance(books.best.content, dict)
    assert set(books.best.content) == {"head", "foot"}
    assert any("the part 'head'" in prompt for prompt in models.prompts)
    assert any("the part 'foot'" in prompt for prompt in models.prompts)


def test_all_parts_are_asked_for_in_one_proposal_when_so_set() -> None:
    task = rules_task(start={"head": "Answer.", "foot": "Close."})
    _, books, models = search(task=task, part_selection="all", max_proposals=1)
    assert len(models.prompts) == 2
    assert [call[0] for call in books.calls].count("propose") == 1


def test_max_proposals_ends_the_search() -> None:
    ended, _, models = search(max_proposals=2)
    assert ended == "done"
    assert len(models.prompts) == 2


@pytest.mark.parametrize("selection", ["pareto", "current_best", "epsilon_greedy", "top_k_pareto"])
def test_every_candidate_selection_finds_the_rules(selection: str) -> None:
    _, books, _ = search(candidate_selection=selection)
    assert books.value(books.best) == 1.0


def test_a_rejected_proposal_buys_nothing_and_its_reason_is_in_the_next_prompt() -> None:
    task = rules_task(check=lambda content: "it lacks {{ letter }}" if "- " in str(content) else None)
    _, books, models = search(task=task, max_proposals=3)
    assert {version for call, version, *_ in books.calls if call == "evaluate"} == {task.start.id}
    assert "it lacks {{ letter }}" not in models.prompts[0]
    assert "it lacks {{ letter }}" in models.prompts[1]


def test_a_proposal_that_scored_no_better_is_told_with_its_text() -> None:
    _, books, models = search(reply=lambda prompt, number: f"Useless text {number}", max_proposals=2)
    assert "Useless text 1" in models.prompts[1]
    assert "it scored 0 in total" in models.prompts[1]
    assert books.rejected == []


def test_five_failed_reflections_in_a_row_break_the_search_with_the_cause() -> None:
    with pytest.raises(SearchBroken, match=r"5 times in a row.*401 wrong key") as broken:
        search(reply=failing("401 wrong key"))
    assert broken.value.reason == "reflection_broken"


def test_five_empty_replies_in_a_row_break_the_search() -> None:
    with pytest.raises(SearchBroken, match="replied with nothing"):
        search(reply=lambda prompt, number: "  \n")


def test_a_reply_in_between_sets_the_count_of_failures_back() -> None:
    ended, _, models = search(reply=lambda prompt, number: "" if number % 5 else f"Text {number}", max_proposals=12)
    assert ended == "done"
    assert len(models.prompts) == 12


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("```\none\n```\nor\n```\ntwo\n```", "2 code fences"),
        ("```\nnever closed", "never closed"),
        ("```\n\n```", "the text was empty"),
        ("```\nAnswer the letter.\n```", "identical"),
    ],
)
def test_an_unusable_reply_is_a_rejection_and_not_a_failure(reply: str, reason: str) -> None:
    _, books, models = search(reply=lambda prompt, number: reply, max_proposals=8)
    assert len(models.prompts) == 8
    assert reason in models.prompts[-1]
    assert len(books.versions) == 1


def test_the_same_text_each_time_ends_by_the_hosts_idle_guard() -> None:
    ended, books, _ = search(reply=lambda prompt, number: "```\nAlways this.\n```")
    assert ended == "converged"
    assert len(books.versions) == 2


@pytest.mark.parametrize(
    "text",
    [
        "Antworte auf Deutsch: höflich 你好",
        "<side_info> and <curr_param>",
        "{{ other }} {% raw %}",
        "a\x00b",
        "{0} %s \\1",
    ],
)
def test_any_text_reaches_the_books_byte_for_byte(text: str) -> None:
    _, books, _ = search(reply=lambda prompt, number: f"```\n{text}\n```", max_proposals=1)
    assert [version.content for version in books.versions.values()] == ["Answer the letter.", text]


def test_a_text_with_fences_of_its_own_comes_back_whole() -> None:
    start = "Use this form:\n```json\n{}\n```\nAnd end.\n"
    _, books, models = search(task=rules_task(start=start), max_proposals=1)
    assert len(books.versions) == 2
    assert str(list(books.versions.values())[1].content).startswith(start.rstrip("\n"))
    assert "````" in models.prompts[0]


def test_the_text_unchanged_but_for_its_last_line_break_counts_as_identical() -> None:
    _, books, _ = search(
        task=rules_task(start="Answer the letter.\n"),
        reply=lambda prompt, number: "```\nAnswer the letter.\n```",
        max_proposals=1,
    )
    assert books.rejected == ["it is identical to the text that it came from"]


def fail_target(content: Content, case: TaskCase) -> Evaluation:
    fine = score_rules(content, case)
    return replace(
        fine,
        status="failed",
        failure="target",
        value=0.0,
        score=None,
        output=None,
        feedback="ZeroDivisionError: run.py line 3",
        error="ZeroDivisionError: run.py line 3",
        scores={},
        side_info={},
    )


def test_a_target_that_always_fails_shows_its_error_once_in_each_record() -> None:
    ended, _, models = search(score=fail_target, reply=lambda prompt, number: f"Text {number}", max_proposals=4)
    assert ended == "done"
    assert models.prompts[0].count("ZeroDivisionError") == 3  # a minibatch of three records
    assert "output:" not in models.prompts[0]
    assert "because the run failed" in models.prompts[0]


def test_one_train_case_is_asked_for_once_in_a_minibatch() -> None:
    _, books, _ = search(task=rules_task(train=1))
    batches = {call[2:] for call in books.calls if call[0] == "evaluate" and call[2].startswith("t")}
    assert batches == {("t0",)}


def test_a_padded_minibatch_never_asks_for_a_case_twice() -> None:
    _, books, _ = search(task=rules_task(train=4), reply=lambda prompt, number: f"Text {number}", max_proposals=12)
    assert len(books.versions) == 13  # the books refuse a batch with one case twice


def test_train_may_serve_as_val() -> None:
    task = rules_task()
    _, books, _ = search(task=replace(task, val=task.train))
    assert books.value(books.best) == 1.0


def test_a_perfect_minibatch_is_not_reflected_on() -> None:
    ended, _, models = search(task=rules_task(start=", ".join(RULES)))
    assert ended == "converged"
    assert models.prompts == []


@pytest.mark.parametrize("door", ["propose", "evaluate", "ask"])
@pytest.mark.parametrize("error", [RunStop("stop"), LaneStop("stop"), OSError("disk full"), KeyboardInterrupt()])
def test_whatever_a_door_raises_leaves_the_engine_as_it_is(door: str, error: BaseException) -> None:
    task = rules_task()
    books, models = Books(task, score_rules), ScriptedModels(add_rule)
    calls = 0

    def broken(*args: object, **kwargs: object) -> None:
        raise error

    def second_broken(version: Version, cases: Sequence[TaskCase]) -> list[Evaluation]:
        nonlocal calls
        calls += 1
        if calls > 3:
            raise error
        return Books.evaluate(books, version, cases)

    replacements = {"propose": (books, broken), "evaluate": (books, second_broken), "ask": (models, broken)}
    setattr(replacements[door][0], door, replacements[door][1])
    with pytest.raises(type(error)) as raised:
        Gepa().search(task, books, models, GepaOptions())
    assert raised.value is error


def test_a_value_that_is_no_number_never_reaches_gepa() -> None:
    with pytest.raises(ValueError, match="case v0: the evaluator's value is nan"):
        search(score=lambda content, case: replace(score_rules(content, case), value=float("nan")))


def test_a_named_score_that_some_versions_leave_out_does_not_stop_the_search() -> None:
    def score(content: Content, case: TaskCase) -> Evaluation:
        fine = score_rules(content, case)
        return replace(fine, scores={}) if fine.value > 0.5 and case.id == "v1" else fine

    _, books, _ = search(score=score)
    assert books.value(books.best) == 1.0


def test_an_engine_object_holds_nothing_of_a_run() -> None:
    engine, task = Gepa(), rules_task()
    prints = []
    for _ in range(2):
        books, models = Books(task, score_rules, 200), ScriptedModels(add_rule)
        run(engine, task, books, models)
        prints.append(fingerprint(books, models))
    assert prints[0] == prints[1]
    assert task == rules_task(check=task.check)


def test_another_seed_asks_in_another_order() -> None:
    prints = {fingerprint(*search(task=rules_task(seed=seed))[1:]) for seed in range(3)}
    assert len(prints) == 3


def test_records_show_everything_but_what_is_expected() -> None:
    _, _, models = search(max_proposals=1)
    prompt = models.prompts[0]
    for shown in ("letter: letter", "output: answer to", "score: 0.0", "- brevity: ", "Missing rule: ", "hint: "):
        assert shown in prompt
    assert "SECRET" not in prompt
    assert "Write answers that follow every rule." in prompt
    assert "The rules are not written down." in prompt


@pytest.mark.parametrize(
    ("task", "roles", "reason"),
    [
        (rules_task(kind="dspy"), {"reflection"}, "engine dspy"),
        (rules_task(), {"task"}, "needs a reflection model"),
        (rules_task(train=0), {"reflection"}, "there are none"),
    ],
)
def test_gepa_says_why_it_cannot_work(task: SearchTask, roles: set[str], reason: str) -> None:
    assert reason in str(Gepa().applies(task, ScriptedModels(add_rule, roles=frozenset(roles)), GepaOptions()))


def test_gepa_applies_to_the_rules_task() -> None:
    assert Gepa().applies(rules_task(), ScriptedModels(add_rule), GepaOptions()) is None


@pytest.mark.parametrize(
    ("budget", "proposals"),
    [(0, 0), (15, 0), (16, 1), (110, 10)],  # 6 calls a proposal and 10 for a val pass
)
def test_the_estimate_counts_proposals_whose_val_pass_fits(budget: int, proposals: int) -> None:
    assert Gepa().estimate(rules_task(), budget, GepaOptions()) == proposals


def test_the_estimate_is_near_what_a_search_does() -> None:
    _, _, models = search(budget=10 + 100)  # the start's val pass apart
    estimate = Gepa().estimate(rules_task(), 100, GepaOptions())
    assert estimate / 2 <= len(models.prompts) <= 2 * estimate


def test_with_repeats_the_search_and_its_estimate_are_those_of_a_budget_as_many_times_smaller() -> None:
    task = rules_task(repeats=3)
    _, once, _ = search(budget=100)
    ended, books, _ = search(budget=300, task=task)
    assert ended == "budget_metric_calls"
    assert books.calls == once.calls
    assert books.paid == 3 * once.paid
    assert Gepa().estimate(task, 300, GepaOptions()) == Gepa().estimate(rules_task(), 100, GepaOptions())


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(ValidationError):
        GepaOptions(minibatch=3)  # type: ignore[call-arg]
