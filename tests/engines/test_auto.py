from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from pydantic import BaseModel, ValidationError

from engines import auto as auto_module
from engines.auto import Auto, AutoOptions
from engines.entrants import Entrant, LaneSpec, default_lanes, make_entrant
from skynet.engine import LaneStop, Rejected, RunStop, SearchBroken, SearchEvaluator, SearchTask, Version

from .host import Books, ScriptedModels, failing, fingerprint, run
from .rules import add_rule, labelled_task, rules_task, score_rules, score_sentiment

NO_REFLECTION = ScriptedModels(failing("no model is needed"), roles=frozenset({"task"}))

Move = Callable[[SearchTask, SearchEvaluator], None]


class ScriptedOptions(BaseModel):
    labels: bool = False


class Scripted:
    """A lane whose search is a function; it remembers the tasks that it was given."""

    Options: ClassVar[type] = ScriptedOptions

    def __init__(self, name: str, move: Move, proposals: int = 9) -> None:
        self.name = name
        self.move = move
        self.proposals = proposals
        self.tasks: list[SearchTask] = []
        self.remaining: list[int] = []

    def applies(self, task: SearchTask, models: Any, options: Any) -> str | None:
        return None

    def estimate(self, task: SearchTask, budget: int, options: Any) -> int:
        return self.proposals if budget >= len(task.val) else 0

    def search(self, task: SearchTask, evaluator: SearchEvaluator, models: Any, options: Any) -> None:
        self.tasks.append(task)
        self.remaining.append(evaluator.remaining)
        self.move(task, evaluator)


@contextmanager
def lanes_are(monkeypatch: pytest.MonkeyPatch, *engines: Scripted, labels: bool = False) -> Iterator[None]:
    entrants = [
        Entrant(one.name, one, ScriptedOptions(labels=labels), one.name == "gepa")  # type: ignore[arg-type]
        for one in engines
    ]
    with monkeypatch.context() as patched:
        patched.setattr(auto_module, "_entrants", lambda task, options: entrants)
        yield


def texts(*contents: str) -> Move:
    """Put each text forward and try it on val."""

    def move(task: SearchTask, evaluator: SearchEvaluator) -> None:
        for content in contents:
            evaluator.evaluate(evaluator.propose(content, task.start, "scripted"), task.val)

    return move


def endless(prefix: str) -> Move:
    """Put forward texts that gain nothing, for ever."""

    def move(task: SearchTask, evaluator: SearchEvaluator) -> None:
        number = 0
        while True:
            number += 1
            evaluator.evaluate(evaluator.propose(f"{prefix} {number}", task.start), task.val)

    return move


def nothing(task: SearchTask, evaluator: SearchEvaluator) -> None:
    return


def search(
    monkeypatch: pytest.MonkeyPatch,
    *engines: Scripted,
    budget: int = 100,
    task: SearchTask | None = None,
    **options: Any,
) -> tuple[str, Books]:
    task = task or rules_task()
    books = Books(task, score_rules, budget)
    with lanes_are(monkeypatch, *engines):
        return run(Auto(), task, books, NO_REFLECTION, **options), books


def test_the_lanes_run_in_their_fixed_order_and_gepa_takes_the_rest() -> None:
    books = Books(labelled_task(target="chat"), score_sentiment, 300)
    run(Auto(), books.task, books, ScriptedModels(lambda prompt, number: f"Text {number}"), labels=True)
    assert books.lanes[:1] == ["demos"]
    books = Books(rules_task(target="python"), score_rules, 300)
    run(Auto(), books.task, books, ScriptedModels(lambda prompt, number: f"Text {number}"))
    assert books.lanes == ["best_of_n", "gepa", "gepa on the winner"]


def test_rules_are_all_found() -> None:
    books = Books(rules_task(), score_rules, 300)
    run(Auto(), books.task, books, ScriptedModels(add_rule))
    assert books.value(books.best) == 1.0


def test_a_lane_that_cannot_apply_is_left_out_and_the_run_says_why() -> None:
    books = Books(labelled_task(), score_sentiment, 300)
    run(Auto(), books.task, books, NO_REFLECTION, labels=True)
    assert books.lanes == ["demos"]
    assert books.notes[0].startswith("The lane best_of_n was left out: best_of_n needs a reflection model")
    assert books.notes[1].startswith("The lane gepa was left out: gepa needs a reflection model")


def test_a_search_in_which_no_lane_applies_says_why_each_does_not() -> None:
    books = Books(rules_task(target="python"), score_rules, 300)
    with pytest.raises(SearchBroken, match=r"demos writes turns of a chat.*best_of_n needs a reflection model.*gepa"):
        run(Auto(), books.task, books, NO_REFLECTION)
    assert books.paid == 0


def test_each_lane_plans_with_an_equal_share_and_the_follower_with_one_more(monkeypatch: pytest.MonkeyPatch) -> None:
    engines = [Scripted("a", endless("a")), Scripted("b", endless("b")), Scripted("gepa", endless("c"))]
    _, books = search(monkeypatch, *engines, budget=10 + 200, patience=20)
    assert [engine.remaining[0] for engine in engines] == [50, 50, 50]
    assert engines[2].remaining[1] == 50  # on the winner
    assert books.paid == books.budget


def test_without_a_follower_the_last_lane_gets_all_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    engines = [Scripted("a", endless("a")), Scripted("b", endless("b"))]
    search(monkeypatch, *engines, budget=10 + 100, patience=20)
    assert [engine.remaining for engine in engines] == [[50], [50]]


def test_a_lane_on_a_plateau_gives_the_rest_of_its_share_back(monkeypatch: pytest.MonkeyPatch) -> None:
    engines = [Scripted("a", endless("a")), Scripted("b", nothing)]
    _, books = search(monkeypatch, *engines, budget=10 + 400, patience=2)
    assert engines[1].remaining == [400 - 20]
    assert any("lane a ended after 20 metric calls" in note and "no gain" in note for note in books.notes)


def test_a_lane_that_gains_is_not_on_a_plateau(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = ["greet first", "greet first, name the order", "greet first, name the order, give a date"]
    _, books = search(monkeypatch, Scripted("a", texts(*steps)), budget=200, patience=1)
    assert [call[0] for call in books.calls].count("propose") == 3


def test_a_lane_whose_proposals_are_all_refused_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = 0

    def move(task: SearchTask, evaluator: SearchEvaluator) -> None:
        nonlocal tried
        while True:
            try:
                evaluator.propose("", task.start)
            except Rejected:
                tried += 1

    _, books = search(monkeypatch, Scripted("a", move), Scripted("b", nothing))
    assert (tried, len(books.rejected)) == (7, 8)  # the eighth ends it
    assert books.lanes == ["a", "b"]


def test_a_lane_that_gets_no_usable_reply_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    def move(task: SearchTask, evaluator: SearchEvaluator) -> None:
        while True:
            evaluator.reject("```", "the code fence is never closed")

    ended, books = search(monkeypatch, Scripted("a", move), Scripted("b", texts("greet first")))
    assert (ended, books.lanes, len(books.rejected)) == ("done", ["a", "b"], 8)
    assert any("lane a ended" in note and "8 proposals in a row were not taken" in note for note in books.notes)


def test_a_search_whose_last_lane_stands_still_has_converged(monkeypatch: pytest.MonkeyPatch) -> None:
    def idle(task: SearchTask, evaluator: SearchEvaluator) -> None:
        while True:
            evaluator.evaluate(task.start, task.val)

    assert search(monkeypatch, Scripted("b", nothing), Scripted("a", idle))[0] == "converged"


def test_standing_still_ends_only_the_lane(monkeypatch: pytest.MonkeyPatch) -> None:
    def idle(task: SearchTask, evaluator: SearchEvaluator) -> None:
        while True:
            evaluator.evaluate(task.start, task.val)

    end, books = search(monkeypatch, Scripted("a", idle), Scripted("b", texts("greet first")))
    assert (end, books.lanes) == ("done", ["a", "b"])
    assert len(books.versions) == 2


def test_a_lane_is_charged_for_what_an_earlier_lane_paid_and_the_run_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[int] = []

    def ask(task: SearchTask, evaluator: SearchEvaluator) -> None:
        evaluator.evaluate(task.start, task.train)
        left.append(evaluator.remaining)
        evaluator.evaluate(task.start, task.train)  # known to the lane: not charged again
        left.append(evaluator.remaining)

    _, books = search(monkeypatch, Scripted("a", ask), Scripted("b", ask), budget=10 + 100)
    assert left == [50 - 12, 50 - 12, 88 - 12, 88 - 12]
    assert books.paid == 10 + 12


def test_a_batch_that_does_not_fit_the_share_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    _, books = search(monkeypatch, Scripted("a", endless("a")), Scripted("b", nothing), budget=10 + 39 + 10, patience=9)
    assert books.paid == 10 + 20
    assert any("lane a ended after 20 metric calls" in note and "share is used up" in note for note in books.notes)


def test_repeats_count_against_the_share(monkeypatch: pytest.MonkeyPatch) -> None:
    task = rules_task(repeats=3)
    engines = [Scripted("a", endless("a")), Scripted("b", nothing)]
    _, books = search(monkeypatch, *engines, budget=30 + 130, task=task, patience=9)
    assert any("lane a ended after 60 metric calls" in note for note in books.notes)
    assert books.paid == 30 + 60


def test_a_version_of_an_earlier_lane_is_taken_again_and_free_for_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[Version] = []

    def again(task: SearchTask, evaluator: SearchEvaluator) -> None:
        taken.append(evaluator.propose("greet first", task.start))
        evaluator.evaluate(taken[0], task.val)
        with pytest.raises(Rejected):
            evaluator.propose("greet first", task.start)

    _, books = search(monkeypatch, Scripted("a", texts("greet first")), Scripted("b", again))
    assert books.paid == 20
    assert taken[0].id in books.versions


class OwnRuns(Books):
    """Runs that an engine makes itself score as the rules say, and a tenth less with each repetition."""

    @contextmanager
    def rollout(self, content: Any, case: Any, occurrence: int = 0, repetition: int = 0) -> Iterator[Any]:
        found = score_rules(content.content, case)
        yield SimpleNamespace(evaluation=replace(found, repetition=repetition, value=found.value - repetition / 10))


def test_what_a_lane_ran_itself_is_not_run_again_by_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    def run_itself(task: SearchTask, evaluator: SearchEvaluator) -> None:
        version = evaluator.propose("greet first", task.start)
        for case in task.val:
            with evaluator.rollout(version, case):
                pass

    seen: list[float] = []

    def look(task: SearchTask, evaluator: SearchEvaluator) -> None:
        seen.extend(one.value for one in evaluator.evaluate(task.start, task.val))

    gepa = Scripted("gepa", look)
    books = OwnRuns(rules_task(), score_rules, 100)
    with lanes_are(monkeypatch, Scripted("a", run_itself), gepa):
        run(Auto(), books.task, books, NO_REFLECTION)
    assert gepa.tasks[-1].start.content == "greet first"
    assert seen[10:] == [score_rules("greet first", case).value for case in books.task.val]
    assert books.paid == 10  # the start's pass


@pytest.mark.parametrize(("made", "stands"), [(1, False), (2, True)])
def test_a_lanes_own_runs_stand_for_a_case_when_all_of_its_repetitions_were_made(
    monkeypatch: pytest.MonkeyPatch, made: int, stands: bool
) -> None:
    charged: list[int] = []

    def run_itself(task: SearchTask, evaluator: SearchEvaluator) -> None:
        before = evaluator.remaining
        version = evaluator.propose("greet first", task.start)
        for case in task.val:
            for repetition in range(made):
                with evaluator.rollout(version, case, 0, repetition):
                    pass
        charged.append(before - evaluator.remaining)

    gepa = Scripted("gepa", nothing)
    books = OwnRuns(rules_task(repeats=2), score_rules, 200)
    with lanes_are(monkeypatch, Scripted("a", run_itself), gepa):
        run(Auto(), books.task, books, NO_REFLECTION)
    assert charged == [10 * made]
    assert (gepa.tasks[-1].start.content == "greet first") == stands
    if stands:
        values = [score_rules("greet first", case).value - 0.05 for case in books.task.val]
        assert any(f"the best by then at {sum(values) / 10:.4g} on val" in note for note in books.notes)


def test_a_sample_that_a_lane_draws_does_not_stand_for_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    def draw(task: SearchTask, evaluator: SearchEvaluator) -> None:
        version = evaluator.propose("greet first", task.start)
        for case in task.val:
            with evaluator.rollout(version, case, occurrence=1):
                pass

    gepa = Scripted("gepa", nothing)
    books = OwnRuns(rules_task(), score_rules, 200)
    with lanes_are(monkeypatch, Scripted("a", draw), gepa):
        run(Auto(), books.task, books, NO_REFLECTION)
    assert gepa.tasks[-1].start.content == books.task.start.content


def test_gepa_goes_on_from_the_winner_with_another_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    gepa = Scripted("gepa", nothing)
    search(monkeypatch, Scripted("a", texts("greet first")), gepa)
    own, follow_up = gepa.tasks
    assert (own.start.content, follow_up.start.content) == ("Answer the letter.", "greet first")
    assert own.seed != follow_up.seed


def test_gepa_that_leads_goes_on_instead_of_being_started_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    def climb(task: SearchTask, evaluator: SearchEvaluator) -> None:
        evaluator.evaluate(evaluator.propose("greet first", task.start), task.val)
        endless("c")(task, evaluator)

    gepa = Scripted("gepa", climb)
    end, books = search(monkeypatch, Scripted("a", nothing), gepa, budget=10 + 105, patience=50)
    assert len(gepa.tasks) == 1
    assert (end, books.paid) == ("budget_metric_calls", 110)


def test_the_search_ends_when_the_maximum_is_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    perfect = "greet first name the order give a date stay polite sign with a name"
    engines = [Scripted("a", texts(perfect)), Scripted("gepa", endless("b"))]
    end, books = search(monkeypatch, *engines)
    assert (end, books.lanes, books.paid) == ("done", ["a"], 20)


def test_a_lane_that_breaks_ends_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(task: SearchTask, evaluator: SearchEvaluator) -> None:
        raise SearchBroken("no luck")

    def crash(task: SearchTask, evaluator: SearchEvaluator) -> None:
        raise KeyError("gone")

    last = Scripted("c", texts("greet first"))
    end, books = search(monkeypatch, Scripted("a", broken), Scripted("b", crash), last)
    assert (end, len(books.versions)) == ("done", 2)
    assert any("lane a ended" in note and "no luck" in note for note in books.notes)
    assert any("lane b ended" in note and "KeyError: 'gone'" in note for note in books.notes)


def test_a_fault_of_the_host_is_no_fault_of_the_lane(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(content: Any, case: Any) -> Any:
        if content == "greet first":
            raise OSError("the disk is full")
        return score_rules(content, case)

    books = Books(rules_task(), full, 100)
    with lanes_are(monkeypatch, Scripted("a", texts("greet first")), Scripted("b", nothing)):
        with pytest.raises(OSError, match="the disk is full"):
            run(Auto(), books.task, books, NO_REFLECTION)
    assert books.lanes == ["a"]


def test_a_search_whose_every_lane_breaks_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(task: SearchTask, evaluator: SearchEvaluator) -> None:
        raise SearchBroken("no luck")

    with pytest.raises(SearchBroken, match="no luck"):
        search(monkeypatch, Scripted("a", broken), Scripted("gepa", broken))


@pytest.mark.parametrize(
    ("reasons", "told"),
    [
        (("budget_metric_calls", "reflection_broken"), "reflection_broken"),
        (("error", "reflection_broken"), "reflection_broken"),
        (("error", "budget_metric_calls"), "budget_metric_calls"),
    ],
)
def test_of_lanes_that_all_broke_a_broken_model_is_told_first(
    monkeypatch: pytest.MonkeyPatch, reasons: tuple[str, ...], told: str
) -> None:
    def broken(reason: str) -> Move:
        def move(task: SearchTask, evaluator: SearchEvaluator) -> None:
            raise SearchBroken(f"ended with {reason}", reason=reason)

        return move

    with pytest.raises(SearchBroken) as caught:
        search(monkeypatch, *(Scripted(reason, broken(reason)) for reason in reasons))
    assert caught.value.reason == told


def test_gepa_that_broke_is_not_asked_to_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(task: SearchTask, evaluator: SearchEvaluator) -> None:
        raise SearchBroken("no luck")

    gepa = Scripted("gepa", broken)
    search(monkeypatch, Scripted("a", nothing), gepa)
    assert len(gepa.tasks) == 1


def test_the_stop_of_the_run_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(task: SearchTask, evaluator: SearchEvaluator) -> None:
        raise RunStop("cancelled")

    end, books = search(monkeypatch, Scripted("a", stop), Scripted("b", nothing))
    assert (end, books.lanes) == ("cancelled", ["a"])


def test_a_straggler_of_an_ended_lane_finds_its_doors_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[SearchEvaluator] = []
    search(monkeypatch, Scripted("a", lambda task, evaluator: kept.append(evaluator)))
    task = rules_task()
    for door in (lambda: kept[0].propose("late", task.start), lambda: kept[0].evaluate(task.start, task.val)):
        with pytest.raises(LaneStop, match="ended"):
            door()


def test_labels_reach_only_lanes_that_use_them(monkeypatch: pytest.MonkeyPatch) -> None:
    blind, reader = Scripted("a", nothing), Scripted("b", nothing)
    task = labelled_task()
    books = Books(task, score_sentiment, 100)
    entrants = [
        Entrant(one.name, one, ScriptedOptions(labels=one is reader), False)  # type: ignore[arg-type]
        for one in (blind, reader)
    ]
    monkeypatch.setattr(auto_module, "_entrants", lambda task, options: entrants)
    run(Auto(), task, books, NO_REFLECTION, labels=True)
    assert blind.tasks[0].labelled_train == ()
    assert reader.tasks[0].labelled_train == task.labelled_train


def test_shares_that_buy_nothing_are_merged_into_later_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    engines = [Scripted("a", nothing), Scripted("b", nothing), Scripted("gepa", endless("c"))]
    _, books = search(monkeypatch, *engines, budget=10 + 29)
    assert [engine.remaining for engine in engines] == [[], [], [14, 19]]
    assert books.notes[0] == "The lane a was left out: its share of 7 metric calls buys about 0 proposals."


def test_gepa_takes_a_share_that_buys_few_proposals_together_with_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    gepa = Scripted("gepa", nothing, proposals=4)
    _, books = search(monkeypatch, Scripted("a", texts("greet first")), gepa)
    assert [task.start.content for task in gepa.tasks] == ["greet first"]
    assert (
        "gepa was left out: its share of 40 metric calls buys about 4 proposals, so it takes the rest" in books.notes[1]
    )


@pytest.mark.parametrize(("budget", "expected"), [(5, 0), (30, 9 * 3), (100, 9 * 4)])
def test_the_estimate_adds_up_what_the_shares_buy(monkeypatch: pytest.MonkeyPatch, budget: int, expected: int) -> None:
    engines = [Scripted("a", nothing), Scripted("b", nothing), Scripted("gepa", nothing)]
    with lanes_are(monkeypatch, *engines):
        assert Auto().estimate(rules_task(), budget, AutoOptions()) == expected


def test_lanes_are_names_or_tables_of_any_installed_engine() -> None:
    options = AutoOptions.model_validate({"lanes": ["demos", {"name": "gepa", "reflection_minibatch_size": 5}]})
    assert options.lanes is not None
    assert [lane.title for lane in options.lanes] == ["demos", "gepa"]
    assert options.lanes[1].given == {"reflection_minibatch_size": 5}
    assert LaneSpec.model_validate({"name": "dspy", "optimizer": "simba"}).title == "dspy: simba"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"lanes": ["gpea"]}, "'gpea' is no engine that auto can run; those are: best_of_n, demos"),
        ({"lanes": ["auto"]}, "'auto' is no engine that auto can run"),
        ({"lanes": []}, "at least 1 item"),
        ({"lanes": [{"name": "gepa", "minibatch": 5}]}, "lane 'gepa': minibatch: Extra inputs are not permitted"),
        ({"patience": 0}, "greater than or equal to 1"),
    ],
)
def test_wrong_lanes_are_refused_before_the_run(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        AutoOptions.model_validate(given)


SCRIPT = """
from engines.auto import Auto
from tests.engines.host import Books, ScriptedModels, fingerprint, run
from tests.engines.rules import add_rule, rules_task, score_rules
task = rules_task()
books, models = Books(task, score_rules, 160), ScriptedModels(add_rule)
run(Auto(), task, books, models)
assert len(books.calls) > 5
print(fingerprint(books, models))
"""


def test_the_calls_are_the_same_over_hash_seeds() -> None:
    prints = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            cwd=Path(__file__).parents[2],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "77")
    }
    assert len(prints) == 1


class Served(Books):
    """Books that know what an earlier attempt paid, and plan with the numbers of that attempt."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.counted: set[tuple[str, str]] = set()
        self.stored, self.known = self.known, {}

    def evaluate(self, version: Version, cases: Any) -> Any:
        found = super().evaluate(version, cases)
        self.counted |= {(version.id, case.id) for case in cases}
        return found

    @property
    def new(self) -> int:
        return len(self.counted - set(self.stored))


def test_a_replay_asks_for_the_same_in_the_same_order_and_pays_nothing() -> None:
    task: SearchTask = rules_task()
    first, models = Books(task, score_rules, 160), ScriptedModels(add_rule)
    run(Auto(), task, first, models)
    second, again = Served(task, score_rules, 160, known=dict(first.known)), ScriptedModels(add_rule)
    run(Auto(), task, second, again)
    assert fingerprint(second, again) == fingerprint(first, models)
    assert second.new == 0


def test_the_task_of_the_engines_is_not_changed_by_auto(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Scripted("a", nothing)
    task = rules_task()
    search(monkeypatch, engine, task=task)
    assert engine.tasks == [replace(task, labelled_train=())]


def test_a_program_has_lanes_of_dspy_and_labels_go_to_those_that_can_use_them() -> None:
    entrants = [make_entrant(lane, labels=True) for lane in default_lanes("dspy")]
    assert [(one.title, one.options.labels, one.continues) for one in entrants] == [
        ("demos", True, False),
        ("dspy: BootstrapFewShotWithRandomSearch", True, False),
        ("dspy: MIPROv2", True, False),
        ("dspy: GEPA", False, True),
    ]


def test_optimizers_that_propose_are_left_out_without_a_reflection_model() -> None:
    task = replace(rules_task(), kind="dspy")
    refusals = [make_entrant(lane, labels=False).refusal(task, NO_REFLECTION) for lane in default_lanes("dspy")[1:]]
    assert refusals[0] is None
    assert all(reason is not None and "needs a model that proposes" in reason for reason in refusals[1:])
