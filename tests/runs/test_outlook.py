from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from skynet.artifact import Artifact
from skynet.evaluation.project import Project
from skynet.runs.engines import EngineError
from skynet.runs.outlook import Outlook, look_ahead
from tests.projects import CHAT, model, write_project

from .plans import plan, rows, spec_of, write_plans
from .scripted import Scripted, ScriptedOptions

URL = "http://127.0.0.1:1/v1"


def look(folder: Path, engine: Any = None, **options: Any) -> Outlook:
    with Project(spec_of(folder)) as project:
        return look_ahead(project, engine or Scripted(), ScriptedOptions(**options))


def test_it_says_about_how_many_proposals_the_rest_buys(tmp_path: Path) -> None:
    found = look(write_plans(tmp_path, plan("start"), budget="metric_calls = 46"))
    assert (found.passes, found.proposals, found.refusals) == (16, 10, [])
    assert found.sentence() == (
        "Of 46 metric calls, check, start and sealed pass take up to 16; the rest buys about 10 proposals."
    )


def test_one_proposal_is_said_in_the_singular(tmp_path: Path) -> None:
    assert look(write_plans(tmp_path, budget="metric_calls = 19")).sentence().endswith("about 1 proposal.")


def test_a_budget_that_buys_none_is_refused_with_what_would_help(tmp_path: Path) -> None:
    (refusal,) = look(write_plans(tmp_path, budget="metric_calls = 18")).refusals
    assert "buys no proposal" in refusal
    assert "metric_calls" in refusal
    assert "--yes" in refusal


def test_a_budget_without_metric_calls_buys_an_unknown_number(tmp_path: Path) -> None:
    found = look(write_plans(tmp_path, budget="seconds = 60"))
    assert (found.proposals, found.refusals) == (None, [])
    assert found.sentence().startswith("Check, start and sealed pass take up to 16 metric calls")


def test_a_budget_below_the_passes_is_left_to_the_run_which_names_the_smallest(tmp_path: Path) -> None:
    found = look(write_plans(tmp_path, budget="metric_calls = 3"))
    assert (found.proposals, found.refusals) == (None, [])


def test_an_engine_that_does_not_apply_is_an_error_that_no_yes_accepts(tmp_path: Path) -> None:
    class Choosy(Scripted):
        refusal = "it knows songs only"

    with pytest.raises(EngineError, match="it knows songs only"):
        look(write_plans(tmp_path), Choosy())


def test_the_engine_is_asked_about_the_task_that_it_would_get(tmp_path: Path) -> None:
    seen = []

    class Curious(Scripted):
        def applies(self, task: Any, models: Any, options: Any) -> str | None:
            seen.append((task, models.has("task"), models.has("reflection")))
            return None

    folder = write_plans(tmp_path, plan("start"), data=rows(train=4), more=model(URL, "task"))
    look(folder, Curious(), labels=True)
    ((task, has_task, has_reflection),) = seen
    assert (has_task, has_reflection) == (True, False)
    assert task.start.artifact == Artifact("text", plan("start"))
    assert (len(task.train), len(task.labelled_train), task.output_column) == (4, 4, "label")


@pytest.mark.parametrize(
    ("price", "budget", "refused"),
    [
        ("", "usd = 1.0", True),
        ("", "usd_by_role = { task = 1.0 }\nmetric_calls = 60", True),
        ("{ input = 1.0, output = 1.0 }", "usd = 1.0", False),
        ("", "metric_calls = 60", False),
    ],
)
def test_dollars_need_a_price_for_every_model(tmp_path: Path, price: str, budget: str, refused: bool) -> None:
    more = model(URL, "task", price=price) + f"[budget]\n{budget}\n"
    refusals = look(write_project(tmp_path, target=CHAT, start="Say it.", more=more)).refusals
    assert bool(refusals) == refused
    if refused:
        assert "'openai/loopback' has no price" in refusals[0]
        assert "price = {" in refusals[0]


def test_a_target_with_keys_of_its_own_cannot_be_metered(tmp_path: Path) -> None:
    folder = write_plans(tmp_path, budget="usd = 1.0")
    toml = folder / "skynet.toml"
    text = toml.read_text(encoding="utf-8")
    toml.write_text(text.replace("[metric]", 'env = ["OPENAI_API_KEY"]\n[metric]', 1), encoding="utf-8")
    (refusal,) = look(folder).refusals
    assert "cannot be metered" in refusal


def test_a_yes_accepts_refusals_and_not_untrusted_code() -> None:
    found = Outlook(60, 1, 16, ["no price"], "it is code")
    assert found.held_against(accept=False, accept_code=False) == ["it is code", "no price"]
    assert found.held_against(accept=True, accept_code=False) == ["it is code"]
    assert found.held_against(accept=True, accept_code=True) == []
