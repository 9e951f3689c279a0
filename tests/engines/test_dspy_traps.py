"""What dspy 3.4 does behind one's back, each with the way around it."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engines.dspy import Dspy
from engines.dspy_options import DspyOptions
from skynet.engine import Evaluation, SearchTask, TaskCase

from .hash_seeds import printed_over_hash_seeds
from .programs import (
    COLOURS,
    ProgramBooks,
    ProgramModels,
    answer,
    colour_of,
    filled,
    make_cases,
    programs_task,
    run_dspy,
)

pytestmark = pytest.mark.xdist_group("dspy")

RAISES = """
import dspy

class Raises(dspy.Module):
    def __init__(self):
        super().__init__()
        self.name = dspy.Predict("text -> colour")

    def forward(self, text):
        named = self.name(text=text)
        if "beta" in text:
            raise LookupError("beta is not in the book")
        return named

program = Raises()
"""
SCRIPT = """
import sys, tempfile
from pathlib import Path
from tests.engines.programs import *
for name in {names}:
    task = programs_task(Path(tempfile.mkdtemp()))
    books, models = ProgramBooks(task, 200), ProgramModels()
    run_dspy(task, books, models, optimizer=name)
    print(name, sorted(books.asked), [text for role, text in models.requests if role == "reflection"])
"""


def searched(task: SearchTask, optimizer: str, budget: int = 200, **options: Any) -> tuple[ProgramBooks, ProgramModels]:
    books, models = ProgramBooks(task, budget), ProgramModels()
    assert run_dspy(task, books, models, optimizer=optimizer, **options) in ("done", "converged")
    return books, models


@pytest.mark.parametrize("optimizer", ["BootstrapFewShot", "BootstrapFewShotWithRandomSearch", "MIPROv2", "SIMBA"])
def test_a_run_that_scored_low_is_never_a_demonstration(optimizer: str, tmp_path: Path) -> None:
    """A Prediction(score=0) is true, and one branch of MIPROv2 forgets the threshold."""
    books, _ = searched(programs_task(tmp_path), optimizer)
    demos = [demo for version in books.proposed for demo in demos_of(version.content)]
    assert demos or optimizer == "SIMBA"
    assert all(demo["colour"] == COLOURS[demo["text"].rsplit(" ", 1)[1]] for demo in demos)


def demos_of(content: Any) -> list[dict[str, Any]]:
    return list(content["demos"])


def test_a_threshold_of_ones_own_decides_what_is_shown(tmp_path: Path) -> None:
    books, _ = searched(programs_task(tmp_path), "BootstrapFewShot", threshold=0.0)
    shown = {demo["text"].rsplit(" ", 1)[1] for version in books.proposed for demo in demos_of(version.content)}
    assert shown == set(COLOURS)


@pytest.mark.parametrize("optimizer", ["GEPA", "COPRO", "MIPROv2", "SIMBA", "BootstrapFewShotWithRandomSearch"])
def test_many_failing_cases_neither_cancel_a_pass_nor_count_as_zero(optimizer: str, tmp_path: Path) -> None:
    """dspy cancels a pass at its tenth error, and counts fewer errors as 0.0."""
    task = programs_task(tmp_path, RAISES, train=36, val=36)
    books, _ = searched(task, optimizer, 400)
    assert len(books.failed) > 10
    assert {error.partition(":")[0] for error in books.failed} == {"LookupError"}
    failed = [item for item in books.known.values() if item.status == "failed"]
    assert {item.value for item in failed} == {-1.0}


def test_the_error_of_a_failing_case_reaches_the_proposer(tmp_path: Path) -> None:
    _, models = searched(programs_task(tmp_path, RAISES), "GEPA")
    assert any("beta is not in the book" in text for role, text in models.requests if role == "reflection")


def test_a_reply_that_cannot_be_read_reaches_the_proposer(tmp_path: Path) -> None:
    """dspy leaves such a call out of its trace, and divides two lists where a part of the fields was there."""

    def reply(text: str, request: dict[str, Any]) -> str:
        return (
            "I would rather not say" if "of kind beta" in request["messages"][-1]["content"] else answer(text, request)
        )

    task = programs_task(tmp_path, 'import dspy\nprogram = dspy.ChainOfThought("text -> colour")\n')
    books, models = ProgramBooks(task), ProgramModels(task_reply=reply)
    assert run_dspy(task, books, models, optimizer="GEPA") in ("done", "converged")
    assert {error.partition(":")[0] for error in books.failed} == {"AdapterParseError"}
    assert any("I would rather not say" in text for role, text in models.requests if role == "reflection")


def test_a_part_of_the_fields_fails_the_case_by_what_is_missing(tmp_path: Path) -> None:
    def reply(text: str, request: dict[str, Any]) -> str:
        return '{"reasoning": "it is red"}'

    task = programs_task(tmp_path, 'import dspy\nprogram = dspy.ChainOfThought("text -> colour")\n')
    books = ProgramBooks(task, 60)
    run_dspy(task, books, ProgramModels(task_reply=reply), optimizer="GEPA")
    assert {error.partition(":")[0] for error in books.failed} == {"AdapterParseError"}


def test_an_unmeasured_case_counts_as_the_starts_mean(tmp_path: Path) -> None:
    from engines.dspy_door import Door

    task = programs_task(tmp_path)
    assert task.program is not None
    door = Door(task, task.program, ProgramBooks(task), "", 1)
    unmeasured = Evaluation("v", "c", 0, "val", "unmeasured", -5.0)
    refused = Evaluation("v", "c", 0, "val", "failed", -5.0, failure="provider")
    failed = Evaluation("v", "c", 0, "val", "failed", -5.0, failure="target")
    assert [door.value(item) for item in (unmeasured, refused, failed)] == [pytest.approx(1 / 3)] * 2 + [-5.0]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_number_that_is_none_never_reaches_an_optimizer(value: float, tmp_path: Path) -> None:
    """NaN spreads through dspy's sums, and an infinite score is the best for good."""

    def metric(output: Any, case: TaskCase) -> tuple[float, str]:
        return value, "odd"

    task = programs_task(tmp_path)
    with pytest.raises(ValueError, match="the evaluator's value is"):
        run_dspy(task, ProgramBooks(task, metric=metric), ProgramModels(), optimizer="COPRO")


def test_a_straggler_that_dspy_submits_again_is_waited_for(tmp_path: Path) -> None:
    import dspy

    from engines.dspy_door import CASE, Door
    from engines.dspy_models import LanguageModels

    task = programs_task(tmp_path)
    assert task.program is not None
    entered, go_on = threading.Event(), threading.Event()

    def slow(text: str, request: dict[str, Any]) -> str:
        entered.set()
        go_on.wait(20)
        return answer(text, request)

    books, models = ProgramBooks(task), ProgramModels(task_reply=slow)
    door = Door(task, task.program, books, "", 1)
    program, lm = door.program(task.start), LanguageModels(task.program, models).task

    def run() -> str:
        with dspy.context(lm=lm, trace=[]):
            return str(program(text=task.train[0].input["text"], **{CASE: "train:t0"}).colour)

    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(run)
        assert entered.wait(20)
        second = threads.submit(run)
        go_on.set()
        assert (first.result(), second.result()) == ("red", "red")
    assert (len(models.requests), len(books.scored)) == (1, 1)


def test_equal_requests_are_all_asked_since_no_cache_of_dspys_answers(tmp_path: Path) -> None:
    task = programs_task(tmp_path)
    same = tuple(TaskCase(f"v{number}", {"text": "item of kind beta"}) for number in range(6))
    task = replace(task, val=same)
    books, models = searched(task, "BootstrapFewShot")
    asked = [text for role, text in models.requests if role == "task" and text.count("item of kind beta") == 1]
    assert len(asked) == len(same) * len(books.proposed)
    assert len(set(asked)) < len(asked)


def test_rules_that_overwrite_each_other_in_dspy_are_each_a_version(tmp_path: Path) -> None:
    """InferRules writes all its candidates into one class, so what it returns is the last and not the best."""
    task = programs_task(tmp_path, labels="true")
    books, models = ProgramBooks(task), ProgramModels()
    run_dspy(task, books, models, optimizer="InferRules", labels=True, candidates=4)
    instructions = {str(version.content["signature"]["instructions"]) for version in contents(books)}
    assert len(instructions) == 4
    assert task.program is not None
    assert task.program.state(task.program(task.start)) == task.start.content


def contents(books: ProgramBooks) -> list[Any]:
    return list(books.proposed)


def test_threads_of_the_program_itself_are_charged_to_its_case(tmp_path: Path) -> None:
    source = """
import dspy

class Twice(dspy.Module):
    def __init__(self):
        super().__init__()
        self.name = dspy.Predict("text -> colour")

    def forward(self, text):
        pairs = [(self.name, {"text": text}), (self.name, {"text": text})]
        return dspy.Parallel(num_threads=2, disable_progress_bar=True)(pairs)[0]

program = Twice()
"""
    _, models = searched(programs_task(tmp_path, source), "BootstrapFewShot")
    assert all(request["place"] for request in models.raw)


def test_optuna_that_is_not_there_is_named_with_its_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    reason = Dspy().applies(programs_task(tmp_path), ProgramModels(), DspyOptions(optimizer="MIPROv2"))
    assert reason is not None
    assert "pip install 'skynet-optimizer[dspy]'" in reason


def test_optuna_without_a_single_demonstration_says_what_would_help(tmp_path: Path) -> None:
    task = programs_task(tmp_path)
    books = ProgramBooks(task, metric=lambda output, case: (0.0, "no"))
    end = run_dspy(task, books, ProgramModels(), optimizer="BootstrapFewShotWithOptuna")
    assert "lower `threshold`, or set labels = true" in end


def test_a_reply_of_the_proposer_that_copro_cannot_read_ends_the_search_with_the_cause(tmp_path: Path) -> None:
    class Chatty(ProgramModels):
        def _proposal(self, text: str) -> str:
            return "Sure, I can help."

    task = programs_task(tmp_path)
    end = run_dspy(task, ProgramBooks(task), Chatty(), optimizer="COPRO")
    assert end.startswith("broken: COPRO failed: AdapterParseError")


def test_a_failing_step_of_better_together_is_told_and_not_only_logged(tmp_path: Path) -> None:
    class Chatty(ProgramModels):
        def _proposal(self, text: str) -> str:
            return "Sure, I can help."

    task = programs_task(tmp_path)
    end = run_dspy(task, ProgramBooks(task, 300), Chatty(), optimizer="BetterTogether", strategy=["COPRO"])
    assert "AdapterParseError" in end


def test_better_together_tries_each_step_in_its_share(tmp_path: Path) -> None:
    task = programs_task(tmp_path)
    books, _ = searched(task, "BetterTogether", 300, strategy=["MIPROv2", "COPRO"])
    assert len(books.asked) <= 300
    assert books.best == 1.0


def test_values_of_other_types_come_back_from_the_store_as_what_they_were(tmp_path: Path) -> None:
    source = """
import dspy
from pydantic import BaseModel

class Item(BaseModel):
    kind: str

class Read(dspy.Signature):
    text: str = dspy.InputField()
    item: Item = dspy.OutputField()

class Name(dspy.Signature):
    item: Item = dspy.InputField()
    colour: str = dspy.OutputField()

class Typed(dspy.Module):
    def __init__(self):
        super().__init__()
        self.read = dspy.Predict(Read)
        self.name = dspy.Predict(Name)

    def forward(self, text):
        return self.name(item=self.read(text=text).item)

program = Typed()
"""

    def reply(text: str, request: dict[str, Any]) -> str:
        last = request["messages"][-1]["content"]
        word = next(kind for kind in COLOURS if kind in last)
        wants_item = "1. `item` (Item)" in text and "`text` (str)" in text
        return "[[ ## item ## ]]\n" + f'{{"kind": "{word}"}}' if wants_item else filled(text, COLOURS[word])

    task = programs_task(tmp_path, source)
    books, models = ProgramBooks(task), ProgramModels(task_reply=reply)
    assert run_dspy(task, books, models, optimizer="BootstrapFewShot") == "done"
    assert books.failed == []
    (version,) = contents(books)
    assert version.content["name"]["demos"][0]["item"] == {"kind": "alpha"}


def test_the_requests_are_the_same_over_hash_seeds() -> None:
    script = SCRIPT.format(names=["GEPA", "MIPROv2", "SIMBA", "COPRO", "BootstrapFewShotWithOptuna"])
    prints = printed_over_hash_seeds(script)
    assert len(prints) == 1
    assert "GEPA" in prints.pop()


def test_cases_of_the_same_inputs_have_their_own_colours() -> None:
    assert [colour_of(case) for case in make_cases("t", 3)] == ["red", "blue", "green"]
