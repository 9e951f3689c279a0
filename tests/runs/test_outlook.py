from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from skynet.artifact import Artifact
from skynet.evaluation.project import Project
from skynet.runs.engines import EngineError, engine_options, load_engine
from skynet.runs.money import Refused
from skynet.runs.outlook import Outlook, look_ahead
from tests.projects import CHAT, METRIC, PYTHON, model, write_project

from .plans import plan, rows, spec_of, write_plans
from .scripted import Scripted, ScriptedOptions

URL = "http://127.0.0.1:1/v1"


def look(folder: Path, engine: Any = None, **options: Any) -> Outlook:
    with Project(spec_of(folder)) as project:
        return look_ahead(project, engine or Scripted(), ScriptedOptions(**options))


class Asking(Scripted):
    """An engine that asks whether the roles have models."""

    def __init__(self, roles: tuple[str, ...]) -> None:
        self._roles = roles

    def applies(self, task: Any, models: Any, options: Any) -> str | None:
        return None if all(models.has(role) for role in self._roles) else "no model"


def write_two_models(folder: Path, metric: str, more: str = "", key: str = "") -> Path:
    """Write a chat project with a task and a reflection model; `key` names the latter's variable."""
    named = f', api_key_env = "{key}"' if key else ""
    models = (
        f'[models]\ntask = {{ name = "openai/t", base_url = "{URL}" }}\n'
        f'reflection = {{ name = "openai/r", base_url = "{URL}"{named} }}\n'
    )
    return write_project(folder, metric, target=CHAT, start="Say it.", more=models + more)


def test_it_says_about_how_many_proposals_the_rest_buys(tmp_path: Path) -> None:
    found = look(write_plans(tmp_path, plan("start"), budget="metric_calls = 46"))
    assert (found.passes, found.proposals, found.refusals) == (16, 10, [])
    assert found.sentence() == (
        "Of 46 metric calls, check, start and sealed pass take up to 16; the rest buys about 10 proposals."
    )


def test_one_proposal_is_said_in_the_singular(tmp_path: Path) -> None:
    assert look(write_plans(tmp_path, budget="metric_calls = 19")).sentence().endswith("about 1 proposal.")


@pytest.mark.parametrize("name", ["best_of_n", "gepa"])
def test_with_repeats_a_proposal_costs_as_many_times_more(name: str, tmp_path: Path) -> None:
    found = []
    for repeats in (1, 3):
        folder = write_plans(
            tmp_path / str(repeats), budget=f"metric_calls = {7 + 69 * repeats}", repeats=repeats,
            engine=f'name = "{name}"', more=model(URL, "reflection"),
        )  # fmt: skip
        with Project(spec_of(folder)) as project:
            engine = load_engine(name)
            found.append(look_ahead(project, engine, engine_options(engine, project.spec.engine)))
    assert [one.passes for one in found] == [7 + 9, 7 + 27]
    assert found[0].proposals == found[1].proposals
    assert found[0].proposals


def test_a_budget_that_buys_none_is_refused_with_what_would_help(tmp_path: Path) -> None:
    (refusal,) = look(write_plans(tmp_path, budget="metric_calls = 18")).refusals
    assert "buys no proposal" in refusal
    assert "metric_calls" in refusal
    assert "--yes" in refusal


@pytest.mark.parametrize("budget", ["seconds = 60", "tokens = 60000"])
def test_a_budget_without_metric_calls_buys_an_unknown_number(tmp_path: Path, budget: str) -> None:
    found = look(write_plans(tmp_path, budget=budget))
    assert (found.proposals, found.refusals) == (None, [])
    assert found.sentence() == (
        "Check, start and sealed pass take up to 16 metric calls; the search takes what is left. How many proposals "
        "that buys cannot be told before the first calls are measured."
    )


PRICED = "{ input = 1.0, output = 10.0 }"
CHATTY = model(URL, "task", price=PRICED)
BOUNDED = [  # one call costs at most $0.0205 and 2200 tokens; check, start and sealed pass are nine of them
    ("usd = 1.0", "usd = 1 would buy about 19 proposals"),
    ("tokens = 60000", "tokens = 60000 would buy about 9 proposals"),
    ("usd = 1.0\ntokens = 60000", "tokens = 60000 would buy about 9 proposals"),
    ("usd = 1.0\nmetric_calls = 300", "usd = 1 would buy about 19 proposals"),
]


@pytest.mark.parametrize(("budget", "said"), BOUNDED)
def test_dollars_and_tokens_of_a_chat_are_told_by_the_most_that_a_call_costs(
    tmp_path: Path, budget: str, said: str
) -> None:
    more = f"{CHATTY}[budget]\n{budget}\n"
    found = look(write_project(tmp_path, target=CHAT, start="Say it.", more=more))
    assert found.refusals == []
    assert f"Were every target call to cost the most that it can, {said}" in found.sentence()


def test_dollars_below_the_passes_are_left_to_the_run_which_names_the_smallest(tmp_path: Path) -> None:
    more = f"{CHATTY}[budget]\nusd = 0.01\n"
    sentence = look(write_project(tmp_path, target=CHAT, start="Say it.", more=more)).sentence()
    assert sentence.endswith("the search takes what is left.")


def test_dollars_that_do_not_end_the_search_first_are_not_told_of(tmp_path: Path) -> None:
    more = f"{CHATTY}[budget]\nusd = 5.0\nmetric_calls = 40\n"
    sentence = look(write_project(tmp_path, target=CHAT, start="Say it.", more=more)).sentence()
    assert sentence.startswith("Of 40 metric calls")
    assert "usd" not in sentence


@pytest.mark.parametrize(("calls", "proposals", "refused"), [(46, 10, False), (18, 0, True)])
def test_without_a_start_version_proposals_are_told_and_refused_all_the_same(
    tmp_path: Path, calls: int, proposals: int, refused: bool
) -> None:
    folder = write_plans(tmp_path, budget=f"metric_calls = {calls}", more=model(URL))
    toml = folder / "skynet.toml"
    toml.write_text(toml.read_text(encoding="utf-8").replace('path = "start.json"', ""), encoding="utf-8")
    found = look(folder)
    assert found.proposals == proposals
    assert bool(found.refusals) == refused


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
        assert "the task model 'openai/loopback' has no price" in refusals[0]
        assert "price = {" in refusals[0]


ASKING = "import skynet\n\ndef score(input, output, expected=None):\n    return 1.0, {'feedback': skynet.llm('x')}\n"


@pytest.mark.parametrize(
    ("metric", "asks", "named"),
    [
        (METRIC, (), "the task model 'openai/t' has no price"),
        (METRIC, ("reflection",), "the task model 'openai/t' and the reflection model 'openai/r' have no price"),
        (ASKING, (), "the task model 'openai/t' and the metric model 'openai/r' have no price"),
        (ASKING, ("reflection",), "the task model 'openai/t' and the reflection and metric model 'openai/r' have"),
    ],
)
def test_models_that_the_run_calls_and_no_others_need_a_price(
    tmp_path: Path, metric: str, asks: tuple[str, ...], named: str
) -> None:
    (refusal,) = look(write_two_models(tmp_path, metric, "[budget]\nusd = 1.0\n"), Asking(asks)).refusals
    assert refusal.startswith(f"[budget] usd is set, but {named}")


@pytest.mark.parametrize(
    ("metric", "asks", "refused"), [(METRIC, (), False), (METRIC, ("reflection",), True), (ASKING, (), True)]
)
def test_a_key_that_is_missing_refuses_a_run_that_needs_it(
    tmp_path: Path, metric: str, asks: tuple[str, ...], refused: bool
) -> None:
    folder = write_two_models(tmp_path, metric, key="NO_SUCH_KEY")
    if not refused:
        look(folder, Asking(asks))
        return
    with pytest.raises(Refused, match=r"takes its key from NO_SUCH_KEY .*\.env") as caught:
        look(folder, Asking(asks))
    assert str(caught.value).count("NO_SUCH_KEY (api_key_env)") == 1


def test_a_key_that_user_code_may_not_need_is_refused_until_a_yes(tmp_path: Path) -> None:
    more = f'[models]\ntask = {{ name = "openai/t", base_url = "{URL}", api_key_env = "NO_SUCH_KEY" }}\n'
    (refusal,) = look(write_plans(tmp_path, more=more)).refusals
    assert "NO_SUCH_KEY" in refusal
    assert "--yes" in refusal


@pytest.mark.parametrize(
    ("target", "start", "said"),
    [
        (CHAT, 'path = "start.txt"', "a chat target needs a task model"),
        (PYTHON, "", "no reflection model to write one"),
    ],
)
def test_a_model_that_every_run_calls_must_be_named(tmp_path: Path, target: str, start: str, said: str) -> None:
    folder = write_project(tmp_path, target=target)
    toml = folder / "skynet.toml"
    toml.write_text(toml.read_text(encoding="utf-8").replace('path = "start.txt"', start), encoding="utf-8")
    with pytest.raises(Refused, match=said):
        look(folder)


@pytest.mark.parametrize(("cost", "refused"), [("", True), ('cost = "usage.usd"\n', False)])
def test_an_http_target_that_reports_its_dollars_is_metered(tmp_path: Path, cost: str, refused: bool) -> None:
    target = f'[target]\nkind = "http"\nurl = "{URL}"\nanswer = "answer"\n{cost}'
    refusals = look(write_project(tmp_path, target=target, more="[budget]\nusd = 1.0\n")).refusals
    assert bool(refusals) == refused
    assert all("cost = " in text for text in refusals)


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
