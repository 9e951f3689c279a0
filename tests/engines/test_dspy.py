from __future__ import annotations

import json
import threading
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engines.dspy import Dspy
from engines.dspy_options import LABEL_BLIND, OPTIMIZERS, DspyOptions
from skynet.engine import Artifact, TaskCase

from .programs import CANARY, COLOURS, ProgramBooks, ProgramModels, colour_of, filled, programs_task, run_dspy
from .rules import rules_task

pytestmark = pytest.mark.xdist_group("dspy")

LABELLED = {"LabeledFewShot", "InferRules"}
TWO = """
import dspy

class Two(dspy.Module):
    def __init__(self):
        super().__init__()
        self.find = dspy.Predict("text -> word")
        self.name = dspy.ChainOfThought("text, word -> colour")

    def forward(self, text):
        return self.name(text=text, word=self.find(text=text).word)

program = Two()
"""
AGENT = '''
import dspy

def look(word: str) -> str:
    """Look a word up."""
    return {"alpha": "red", "beta": "blue", "gamma": "green"}.get(word, "nothing")

def build():
    return dspy.ReAct("text -> colour", tools=[look], max_iters=3)
'''


def run(
    folder: Path, optimizer: str, *, budget: int = 200, labels: str = "", program: str | None = None, **options: Any
) -> tuple[str, ProgramBooks, ProgramModels]:
    """Run an optimizer on the colours; labels are there where it needs them."""
    labels = labels or ("true" if optimizer in LABELLED else "")
    task = programs_task(folder, labels=labels) if program is None else programs_task(folder, program, labels=labels)
    books, models = ProgramBooks(task, budget), ProgramModels()
    end = run_dspy(task, books, models, optimizer=optimizer, labels=bool(labels), **options)
    return end, books, models


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_an_optimizer_ends_by_itself_within_the_budget(optimizer: str, tmp_path: Path) -> None:
    end, books, _ = run(tmp_path, optimizer)
    assert end in ("done", "converged")
    assert len(books.asked) <= 200
    assert books.proposed
    assert all(books.mean(version) is not None for version in books.proposed)


@pytest.mark.parametrize("optimizer", ["GEPA", "MIPROv2", "COPRO", "InferRules", "LabeledFewShot", "BetterTogether"])
def test_an_optimizer_finds_the_program_that_there_is_to_find(optimizer: str, tmp_path: Path) -> None:
    _, books, _ = run(tmp_path, optimizer)
    assert books.best == 1.0


@pytest.mark.parametrize("optimizer", ["BootstrapFewShot", "BootstrapFewShotWithRandomSearch", "MIPROv2"])
def test_labelled_demonstrations_teach_what_no_run_could_show(optimizer: str, tmp_path: Path) -> None:
    _, books, _ = run(tmp_path, optimizer, labels="true")
    assert books.best == 1.0
    assert any("augmented" not in demo for version in books.proposed for demo in demos_of(version.content))


def demos_of(content: Any) -> list[dict[str, Any]]:
    return list(content["demos"])


@pytest.mark.parametrize("optimizer", [name for name in OPTIMIZERS if name not in LABELLED])
def test_no_request_of_a_label_blind_optimizer_shows_a_label(optimizer: str, tmp_path: Path) -> None:
    task = programs_task(tmp_path, labels="canary")
    books, models = ProgramBooks(task), ProgramModels()
    assert run_dspy(task, books, models, optimizer=optimizer) in ("done", "converged")
    assert models.requests
    assert not [text for _, text in models.requests if CANARY in text]
    assert CANARY not in str([version.content for version in books.proposed])


@pytest.mark.parametrize("optimizer", sorted(LABELLED))
def test_what_needs_labels_shows_those_of_train_only(optimizer: str, tmp_path: Path) -> None:
    task = programs_task(tmp_path, labels="canary")
    books, models = ProgramBooks(task), ProgramModels()
    run_dspy(task, books, models, optimizer=optimizer, labels=True)
    assert any(f"{CANARY}-t" in text for _, text in models.requests)
    assert not any(f"{CANARY}-v" in text for _, text in models.requests)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_the_name_of_a_case_reaches_neither_the_task_model_nor_a_version(optimizer: str, tmp_path: Path) -> None:
    _, books, models = run(tmp_path, optimizer)
    assert not any("skynet_case" in text for role, text in models.requests if role == "task")
    assert "skynet_case" not in str([version.content for version in books.proposed])


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_run_is_scored_once_and_never_made_twice(optimizer: str, tmp_path: Path) -> None:
    _, books, models = run(tmp_path, optimizer)
    assert len(books.scored) == len(books.asked)
    places = Counter(request["place"] for request in models.raw if request["role"] == "task")
    assert set(places.values()) == {1}
    assert "" not in places  # every call of the program was made, and is charged, inside a rollout


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_replay_asks_for_the_same_and_neither_runs_nor_scores_anything(optimizer: str, tmp_path: Path) -> None:
    end, first, models = run(tmp_path, optimizer)
    again = ProgramModels()
    second = ProgramBooks(first.task, 200, known=dict(first.known))
    options = {"optimizer": optimizer, "labels": optimizer in LABELLED}
    assert run_dspy(first.task, second, again, **options) == end
    assert second.scored == []
    assert [text for role, text in again.requests if role == "task"] == []
    assert proposer_requests(again) == proposer_requests(models)
    assert second.asked == first.asked
    assert {version.id for version in second.proposed} == {version.id for version in first.proposed}


def proposer_requests(models: ProgramModels) -> list[str]:
    return [text for role, text in models.requests if role == "reflection"]


@pytest.mark.parametrize("optimizer", ["GEPA", "MIPROv2", "SIMBA", "COPRO", "BootstrapFewShotWithRandomSearch"])
def test_a_program_with_two_predictors_is_improved_in_both(optimizer: str, tmp_path: Path) -> None:
    end, books, _ = run(tmp_path, optimizer, program=TWO, budget=300)
    assert end in ("done", "converged")
    assert {"find", "name.predict"} <= set(books.task.start.content)
    assert books.proposed
    assert books.failed == []


def test_an_agent_runs_its_tools_and_its_trajectory_is_the_trace(tmp_path: Path) -> None:
    task = programs_task(tmp_path, AGENT)
    books, models = ProgramBooks(task, 120), ProgramModels(task_reply=agent)
    assert run_dspy(task, books, models, optimizer="GEPA") in ("done", "converged")
    assert {"react", "extract.predict"} <= set(task.start.content)
    evaluation = next(item for item in books.known.values() if item.trace)
    assert evaluation.trace["tool_name_0"] == "look"
    assert evaluation.trace["observation_0"] in COLOURS.values()
    assert evaluation.output in COLOURS.values()
    assert books.failed == []


def agent(text: str, request: dict[str, Any]) -> str:
    """An agent that looks the kind up and then ends."""
    last = request["messages"][-1]["content"]
    word = last.split("of kind ")[1].split()[0]
    if "next_tool_name" not in text:
        return filled(text, COLOURS[word])
    name, arguments = ("finish", "{}") if "observation_0" in last else ("look", json.dumps({"word": word}))
    fields = {"next_thought": "I look.", "next_tool_name": name, "next_tool_args": arguments}
    return "\n".join(f"[[ ## {key} ## ]]\n{value}" for key, value in fields.items())


def test_gepa_names_the_version_that_a_proposal_came_from(tmp_path: Path) -> None:
    def reply(text: str, request: dict[str, Any]) -> str:
        """Learn a kind only from the latest of the rules, so that two proposals are needed."""
        last = request["messages"][-1]["content"].split("of kind ")[1].split()[0]
        return filled(text, COLOURS[last] if last == "alpha" or f"{last} is" in text else "red")

    task = programs_task(tmp_path, train=12)
    books, models = ProgramBooks(task, 300), ProgramModels(task_reply=reply)
    run_dspy(task, books, models, optimizer="GEPA", minibatch_size=1)
    parents = [version.parent for version in books.proposed]
    assert parents[0] == task.start.id
    assert set(parents) <= {task.start.id, *(version.id for version in books.proposed)}
    assert len(books.proposed) > 1
    assert books.proposed[0].id in parents


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"optimizer": "KNNFewShot"}, "closure over labelled rows"),
        ({"optimizer": "bootstrap_finetune"}, "trains the weights"),
        ({"optimizer": "GRPO"}, "trains the weights"),
        ({"optimizer": "mipro_v3"}, "Did you mean MIPROv2?"),
        ({"optimizer": "LabeledFewShot"}, "set labels = true"),
        ({"optimizer": "BetterTogether", "strategy": ["GEPA", "InferRules"]}, "set labels = true"),
        ({"optimizer": "GEPA", "labels": True}, "leave labels out"),
        ({"optimizer": "BetterTogether", "strategy": ["BetterTogether"]}, "not BetterTogether itself"),
        ({"optimizer": "BetterTogether", "strategy": ["KNNFewShot"]}, "closure over labelled rows"),
    ],
)
def test_an_option_that_cannot_be_is_refused_with_the_reason(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        DspyOptions(**options)


@pytest.mark.parametrize("name", ["miprov2", "MIPROv2", "mipro_v2"])
def test_an_optimizer_may_be_written_in_its_own_case_or_not(name: str) -> None:
    assert DspyOptions(optimizer=name).optimizer == "MIPROv2"


def test_gepa_is_the_default() -> None:
    assert DspyOptions().optimizer == "GEPA"
    assert set(LABEL_BLIND) < set(OPTIMIZERS)


def test_programs_with_model_written_source_are_refused(tmp_path: Path) -> None:
    flex = 'import dspy\nclass Flex(dspy.Predict):\n    pass\nprogram = Flex("text -> colour")\n'
    end, books, _ = run(tmp_path, "BootstrapFewShot", program=flex)
    assert "dspy.Flex runs source written by a model" in end
    assert not books.asked


def test_another_artifact_is_refused_with_its_kind() -> None:
    assert "the artifact's kind is text" in str(Dspy().applies(rules_task(), ProgramModels(), DspyOptions()))


def test_a_missing_task_model_is_named(tmp_path: Path) -> None:
    models = ProgramModels(roles=frozenset({"reflection"}))
    assert "as task" in str(Dspy().applies(programs_task(tmp_path), models, DspyOptions()))


@pytest.mark.parametrize("optimizer", ["GEPA", "MIPROv2", "SIMBA", "COPRO", "InferRules"])
def test_an_optimizer_that_proposes_needs_a_reflection_model(optimizer: str, tmp_path: Path) -> None:
    task = programs_task(tmp_path, labels="true")
    models = ProgramModels(roles=frozenset({"task"}))
    reason = Dspy().applies(task, models, DspyOptions(optimizer=optimizer, labels=optimizer in LABELLED))
    assert reason is not None
    assert reason.startswith(f"{optimizer} needs a model that proposes")


def test_too_small_a_budget_is_told_before_anything_is_run(tmp_path: Path) -> None:
    end, books, _ = run(tmp_path, "GEPA", budget=11)
    assert end == "broken: the budget is too small: one proposal of GEPA takes 12 metric calls, and 11 are left for " \
        "the search"  # fmt: skip
    assert not books.asked


def test_a_stop_passes_through_the_threads_and_nothing_runs_after_it(tmp_path: Path) -> None:
    task = programs_task(tmp_path, concurrency=8)
    books = ProgramBooks(task, 200)
    models = ProgramModels()
    budget = 31  # what is planned for 200 ends in the middle of a pass over val
    books.__class__ = type("Short", (ProgramBooks,), {"remaining": property(lambda self: plan(self, budget))})
    assert run_dspy(task, books, models, optimizer="BootstrapFewShotWithRandomSearch") == "budget_metric_calls"
    made = len(models.requests)
    for thread in threading.enumerate():
        if thread.name.startswith("ThreadPoolExecutor"):
            thread.join(10)
    assert len(models.requests) == made
    assert len(books.scored) == budget


def plan(books: ProgramBooks, budget: int) -> int:
    """Look large to a planner, and be spent at `budget`."""
    return 200 if not books.asked else budget - len(books.asked)


def test_five_failed_requests_to_the_proposer_in_a_row_end_the_search(tmp_path: Path) -> None:
    task = programs_task(tmp_path)
    books, models = ProgramBooks(task), ProgramModels(broken="the provider is down")
    assert run_dspy(task, books, models, optimizer="GEPA") == (
        "broken: 5 requests in a row to the reflection model failed: the provider is down"
    )


def test_the_engine_estimates_what_a_budget_buys(tmp_path: Path) -> None:
    task = programs_task(tmp_path)
    assert Dspy().estimate(task, 5, DspyOptions()) == 0
    assert Dspy().estimate(task, 90, DspyOptions()) == 10
    assert Dspy().estimate(task, 200, DspyOptions(optimizer="MIPROv2")) == 30


def test_nothing_is_printed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for optimizer in ("MIPROv2", "COPRO", "BootstrapFewShotWithRandomSearch"):
        run(tmp_path, optimizer, budget=80)
    assert capfd.readouterr() == ("", "")


def test_states_that_ran_on_train_only_are_probes(tmp_path: Path) -> None:
    _, books, _ = run(tmp_path, "SIMBA")
    versions = {version.id for version in books.versions.values()}
    on_val = {content for content, case, _ in books.asked if case.startswith("v")}
    assert on_val <= versions
    assert {content for content, _, _ in books.asked} - versions


def test_where_train_serves_as_val_the_teachers_are_still_probes(tmp_path: Path) -> None:
    task = programs_task(tmp_path, labels="true")
    task = replace(task, val=task.train)
    books = ProgramBooks(task, 300)
    run_dspy(task, books, ProgramModels(), optimizer="BootstrapFewShotWithRandomSearch", labels=True)
    assert {content for content, _, _ in books.asked} - set(books.versions)


def test_the_starts_own_pass_over_val_is_not_paid_again(tmp_path: Path) -> None:
    _, books, _ = run(tmp_path, "MIPROv2")
    assert not [key for key in books.asked if key[0] == books.task.start.id and key[1].startswith("v")]


def test_samples_at_another_temperature_are_no_runs_of_the_version(tmp_path: Path) -> None:
    _, books, models = run(tmp_path, "SIMBA")
    hot = {request["place"] for request in models.raw if request.get("temperature") == 1.0}
    assert hot
    assert all("', 0)" not in place for place in hot)
    assert {occurrence for _, _, occurrence in books.asked} > {0, 1}


def test_a_case_is_found_by_its_name_and_not_by_its_inputs(tmp_path: Path) -> None:
    task = programs_task(tmp_path)
    twin = TaskCase("v9", task.val[0].input)
    books = ProgramBooks(replace(task, val=(*task.val, twin)))
    run_dspy(books.task, books, ProgramModels(), optimizer="MIPROv2")
    assert {case for _, case, _ in books.asked if case.startswith("v")} == {case.id for case in books.task.val}


def test_the_best_is_found_by_exact_means_where_dspy_rounds(tmp_path: Path) -> None:
    """A gain of 0.000001 is 0.00 in dspy's percentages: the version is put forward all the same, with its scores."""

    def metric(output: Any, case: TaskCase) -> tuple[float, str]:
        return (0.500001 if output == colour_of(case) else 0.5), "Look at the kind: beta is blue, gamma is green."

    task = programs_task(tmp_path)
    books = ProgramBooks(task, 200, metric=metric)
    run_dspy(task, books, ProgramModels(), optimizer="COPRO")
    best = max(books.proposed, key=lambda version: books.mean(version) or 0.0)
    assert books.mean(best) == pytest.approx(0.500001, abs=1e-9)
    assert Artifact("dspy", best.content).id == best.id
