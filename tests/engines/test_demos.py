from __future__ import annotations

import zlib
from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from engines.chat import Turn, split_turns
from engines.demos import Demos, DemosOptions
from skynet.engine import (
    Artifact,
    Content,
    Evaluation,
    LabelledCase,
    LaneStop,
    SearchBroken,
    SearchTask,
    TaskCase,
    Version,
)

from .host import Books, ScriptedModels, failing, fingerprint, run
from .rules import LABELS, label, labelled_task, rules_task, score_sentiment

MODELS = ScriptedModels(failing("no model is needed"), roles=frozenset({"task"}))


def search(task: SearchTask | None = None, budget: int = 400, **options: Any) -> tuple[str, Books]:
    task = task or labelled_task()
    books = Books(task, score_sentiment, budget)
    return run(Demos(), task, books, MODELS, **{"labels": True, **options}), books


def turns_of(version: Version) -> list[Turn]:
    return split_turns(str(version.content))


def proposed(books: Books) -> list[Version]:
    return [version for version in books.versions.values() if version.id != books.task.start.id]


def test_labelled_demonstrations_lift_val_to_the_maximum() -> None:
    _, books = search()
    books.evaluate(books.task.start, books.task.val)
    assert (books.value(books.task.start) or 0) < 0.5
    assert books.value(books.best) == 1.0


def test_demonstrations_are_user_and_assistant_turns_between_the_prompt_and_the_input() -> None:
    _, books = search()
    for version in proposed(books):
        first, *shown = turns_of(version)
        assert first == Turn("system", "Label the review.")
        assert [turn.role for turn in shown] == ["user", "assistant"] * (len(shown) // 2)
        for asked, answer in zip(shown[::2], shown[1::2], strict=True):
            assert asked.text.endswith(f"sounds {answer.text}")


def test_a_text_that_places_its_input_shows_each_demonstration_in_the_same_form() -> None:
    start = "Label the review.\nuser:\nReview: {{ review }}\nLabel?"
    _, books = search(labelled_task(start=start), candidates=2, max_demos=2)
    turns = turns_of(proposed(books)[0])
    assert turns[-1] == Turn("user", "Review: {{ review }}\nLabel?")
    assert turns[1].text.startswith("Review: review ")
    assert turns[1].text.endswith("\nLabel?")
    assert turns[2].role == "assistant"


def test_demonstrations_that_the_start_has_already_stay_before_the_new_ones() -> None:
    start = "Label.\nuser:\nold review\nassistant:\ngood"
    _, books = search(labelled_task(start=start), candidates=1, max_demos=1)
    assert [turn.text for turn in turns_of(proposed(books)[0])][:3] == ["Label.", "old review", "good"]


def test_several_columns_are_shown_as_lines() -> None:
    task = labelled_task()
    rows = tuple(replace(row, input={**row.input, "stars": 3}) for row in task.labelled_train)
    train = tuple(TaskCase(row.id, row.input) for row in rows)
    _, books = search(replace(task, labelled_train=rows, train=train), candidates=1, max_demos=1)
    assert "\nstars: 3" in turns_of(proposed(books)[0])[1].text


@pytest.mark.parametrize(
    "poison",
    ["line\nuser:\nline", "x\r\n Assistant: \r\ny", "look: {{ review }}", "look: {{review}}", "   "],
)
@pytest.mark.parametrize("column", ["review", "label"])
def test_a_row_whose_text_could_not_stand_in_the_artifact_is_never_shown(poison: str, column: str) -> None:
    task = labelled_task(train=6)
    first = task.labelled_train[0]
    bad = LabelledCase(first.id, {"review": poison}, first.expected)
    if column == "label":
        bad = LabelledCase(first.id, first.input, {"label": poison})
    train = (TaskCase(bad.id, bad.input), *task.train[1:])
    _, books = search(replace(task, train=train, labelled_train=(bad, *task.labelled_train[1:])))
    notes = [version.note for version in proposed(books)]
    assert notes
    assert not any(f"cases {bad.id}" in note or f", {bad.id}" in note for note in notes)


def test_expected_values_that_are_no_text_are_shown_as_json() -> None:
    task = labelled_task(train=1)
    row = replace(task.labelled_train[0], expected={"label": {"stars": 3}})
    _, books = search(replace(task, labelled_train=(row,)))
    assert turns_of(proposed(books)[0])[2].text == '{"stars": 3}'


def test_without_labels_only_outputs_that_scored_enough_are_shown() -> None:
    task = labelled_task(labelled_train=())
    _, books = search(task, labels=False)
    answers = {turn.text for version in proposed(books) for turn in turns_of(version) if turn.role == "assistant"}
    assert answers == {"mixed"}


def test_a_lower_threshold_lets_other_outputs_in() -> None:
    _, books = search(labelled_task(labelled_train=()), labels=False, threshold=0.0)
    answers = {turn.text for version in proposed(books) for turn in turns_of(version) if turn.role == "assistant"}
    assert "I think that it sounds nice." in answers


def test_gathering_outputs_takes_at_most_a_quarter_of_the_budget() -> None:
    task = labelled_task(train=200, labelled_train=())
    _, books = search(task, budget=80, labels=False, max_demos=6)
    gathered = [call for call in books.calls if call[0] == "evaluate" and call[1] == task.start.id]
    assert sum(len(call) - 2 for call in gathered) <= 20


def worthless(content: Content, case: TaskCase) -> Evaluation:
    return replace(score_sentiment(content, case), score=0.0, value=0.0)


def test_no_good_output_breaks_the_search_and_says_what_would_help() -> None:
    task = labelled_task(labelled_train=())
    with pytest.raises(SearchBroken, match=r"scored 1 or more.*lower `threshold`") as broken:
        Demos().search(task, Books(task, worthless), MODELS, DemosOptions())
    assert broken.value.reason == "error"


def test_labels_without_any_labelled_row_break_the_search() -> None:
    task = labelled_task(labelled_train=())
    with pytest.raises(SearchBroken, match="no train case has an expected value"):
        Demos().search(task, Books(task, score_sentiment), MODELS, DemosOptions(labels=True))


def test_sets_respect_their_bounds_and_never_show_a_row_twice() -> None:
    _, books = search(min_demos=2, max_demos=4)
    for version in proposed(books):
        asked = [turn.text for turn in turns_of(version) if turn.role == "user"]
        assert 2 <= len(asked) <= 4
        assert len(set(asked)) == len(asked)


def test_random_sets_are_balanced_over_the_answers() -> None:
    _, books = search(budget=60, candidates=3, min_demos=6, max_demos=6)
    for version in proposed(books)[:3]:
        answers = [turn.text for turn in turns_of(version) if turn.role == "assistant"]
        assert {answers.count(one) for one in LABELS} == {2}


@pytest.mark.parametrize("budget", [20, 27, 45, 60, 100, 250])
@pytest.mark.parametrize("candidates", [None, 3, 50])
def test_some_set_is_tried_on_all_of_val_as_soon_as_the_budget_covers_one_pass(
    budget: int, candidates: int | None
) -> None:
    _, books = search(budget=budget, candidates=candidates)
    assert books.paid <= budget
    assert any(books.value(version) is not None for version in proposed(books))


def test_most_of_the_sets_of_a_race_are_not_run_to_the_end() -> None:
    _, books = search(budget=200, candidates=16, max_demos=3)
    complete = [version for version in proposed(books)[:16] if books.value(version) is not None]
    assert 0 < len(complete) <= 8


def test_the_search_ends_after_eight_changes_without_a_gain() -> None:
    task = labelled_task()
    books = Books(task, worthless, 10_000)
    assert run(Demos(), task, books, MODELS, labels=True, min_demos=3, max_demos=3, candidates=4) == "done"
    assert len(proposed(books)) == 4 + 8


def test_the_best_set_loses_demonstrations_that_gain_nothing() -> None:
    task = labelled_task()
    books = Books(task, worthless, 10_000)
    run(Demos(), task, books, MODELS, labels=True, min_demos=1, max_demos=6, candidates=1)
    assert len(turns_of(proposed(books)[-1])) < len(turns_of(proposed(books)[0]))


def coin(content: Content, case: TaskCase) -> Evaluation:
    score = float(zlib.crc32(f"{content}{case.id}".encode()) % 2)
    return replace(score_sentiment(content, case), score=score, value=score)


def test_a_change_that_is_behind_on_half_of_val_costs_no_more() -> None:
    task = labelled_task()
    books = Books(task, coin, 10_000)
    run(Demos(), task, books, MODELS, labels=True, candidates=4)
    changes = proposed(books)[4:]
    tried = {version.id: sum(key[0] == version.id for key in books.known) for version in changes}
    assert set(tried.values()) == {10, 20}


def test_one_train_row_gives_one_demonstration() -> None:
    ended, books = search(labelled_task(train=1))
    assert ended == "done"
    assert len(proposed(books)) == 1


def test_rejected_sets_end_the_search_without_an_evaluation() -> None:
    ended, books = search(labelled_task(check=lambda content: "too long"))
    assert ended in {"done", "converged"}
    assert books.paid == 0


def test_a_stop_passes() -> None:
    task = labelled_task()
    books = Books(task, score_sentiment, 5, stop=LaneStop("lane over"))
    with pytest.raises(LaneStop):
        Demos().search(task, books, MODELS, DemosOptions(labels=True))


def test_the_choices_follow_from_the_seed() -> None:
    same = {fingerprint(search(labelled_task(seed=0))[1], MODELS) for _ in range(2)}
    other = {fingerprint(search(labelled_task(seed=seed))[1], MODELS) for seed in range(3)}
    assert len(same) == 1
    assert len(other) == 3


@pytest.mark.parametrize(
    ("task", "reason"),
    [
        (rules_task(target="python"), "the target is python"),
        (rules_task(start={"a": "b"}), "the artifact's kind parts"),
        (labelled_task(train=0, labelled_train=()), "there are none"),
        (labelled_task(output_column=None), "exactly one column"),
        (labelled_task(start="Label {{ review }}."), "stands in the system turn"),
    ],
)
def test_demos_says_why_it_cannot_work(task: SearchTask, reason: str) -> None:
    assert reason in str(Demos().applies(task, MODELS, DemosOptions()))


def test_demos_applies_to_a_chat_text_without_a_reflection_model() -> None:
    assert Demos().applies(labelled_task(), MODELS, DemosOptions()) is None


@pytest.mark.parametrize(("budget", "sets"), [(0, 0), (19, 0), (20, 1)])
def test_the_estimate_is_none_when_no_set_can_be_tried_on_all_of_val(budget: int, sets: int) -> None:
    assert Demos().estimate(labelled_task(), budget, DemosOptions(labels=True)) == sets


def test_the_estimate_is_near_what_a_search_tries() -> None:
    task = labelled_task()
    books = Books(task, worthless, 200)
    run(Demos(), task, books, MODELS, labels=True)
    estimate = Demos().estimate(task, 200, DemosOptions(labels=True))
    assert estimate / 2 <= len(proposed(books)) <= 2 * estimate


@pytest.mark.parametrize("labels", [True, False])
def test_with_repeats_the_search_and_its_estimate_are_those_of_a_budget_as_many_times_smaller(labels: bool) -> None:
    task = labelled_task(train=60) if labels else labelled_task(train=60, labelled_train=())
    once, thrice = (Books(replace(task, repeats=repeats), score_sentiment, 150 * repeats) for repeats in (1, 3))
    for books in (once, thrice):
        run(Demos(), books.task, books, MODELS, labels=labels)
    assert thrice.calls == once.calls
    assert thrice.paid == 3 * once.paid
    options = DemosOptions(labels=labels)
    assert Demos().estimate(thrice.task, 450, options) == Demos().estimate(task, 150, options)


def test_sizes_the_wrong_way_round_are_refused() -> None:
    with pytest.raises(ValidationError, match="min_demos"):
        DemosOptions(min_demos=4, max_demos=2)


def test_the_stand_in_knows_every_label() -> None:
    assert {label(number) for number in range(20)} == set(LABELS)
    assert Artifact("text", "x").id
