from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from skynet.engine import Models, SearchEvaluator, SearchTask
from skynet.runs.report import render_markdown
from skynet.runs.result import RunResult, result_of
from skynet.runs.session import run_project
from skynet.spec import load_spec
from tests.loopback import ModelServer, model_server

from .chats import GOOD, answer, write_chat
from .plans import cases_of, drive, plan, ran, rows, write_plans
from .project_files import add_missing_word, write_words_project
from .report import samples
from .scripted import Scripted, installed, scripted

__all__ = ["model_server", "scripted"]

START, WORSE, BETTER = plan("start", 0.25, val0="raise"), plan("worse", 0.1), plan("better", 0.75, test0="unmeasured")


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    """One finished run: the start fails on a val case, the best is unmeasured on a test case."""
    folder = tmp_path_factory.mktemp("report")
    with installed(folder / "plugin"):
        return drive(write_plans(folder / "project", START, WORSE, START, BETTER, repeats=2))


@pytest.fixture(scope="module")
def data(result: RunResult) -> dict[str, Any]:
    return dict(result.data)


def test_the_report_is_strict_json(data: dict[str, Any]) -> None:
    assert json.loads(json.dumps(data, allow_nan=False)) == json.loads(json.dumps(data))


def test_it_names_run_engine_and_versions_of_what_ran(data: dict[str, Any]) -> None:
    assert data["schema"] == 1
    assert (data["name"], data["objective"]) == ("plans", "Score high.")
    assert data["engine"]["name"] == "scripted"
    assert (data["engine"]["package"], data["engine"]["version"]) == ("scripted-engine", "1.5")
    assert data["engine"]["options"]["texts"] == [WORSE, START, BETTER]
    assert data["started_at"] <= data["ended_at"]


def test_each_version_has_its_place_in_the_search(data: dict[str, Any]) -> None:
    start, worse, better = data["versions"]
    assert [version["status"] for version in (start, worse, better)] == ["start", "candidate", "best"]
    assert (start["parent"], worse["parent"], better["parent"]) == (None, start["id"], start["id"])
    assert better["text"] == BETTER
    assert better["val"] == 0.75
    assert (better["coverage"]["measured"], better["coverage"]["total"]) == (6, 6)
    assert better["scores"] == {"half": 0.375}
    assert 0 < start["at_call"] < worse["at_call"] < better["at_call"]


def test_the_curve_climbs_with_the_calls(data: dict[str, Any]) -> None:
    assert [point["best_val"] for point in data["curve"]] == [data["baseline"]["val"], 0.75]
    assert data["curve"][0]["metric_calls"] < data["curve"][1]["metric_calls"] <= data["budget"]["metric_calls"]["used"]


def test_the_table_has_each_case_and_repetition_of_test_and_val(data: dict[str, Any]) -> None:
    places = [(row["split"], row["input"]["text"], row["repetition"]) for row in data["cases"]]
    assert places == [
        (split, f"{split}{number}", repetition)
        for split in ("test", "val")
        for number in range(3)
        for repetition in range(2)
    ]
    assert all(row["expected"] == {"label": 1.0} for row in data["cases"])


def test_start_and_best_stand_side_by_side(result: RunResult) -> None:
    assert cases_of(result, "test", "start")["test1"]["score"] == 0.25
    assert cases_of(result, "test", "best")["test1"]["feedback"] == "test1 scored 0.75"
    unmeasured = cases_of(result, "test", "best")["test0"]
    assert (unmeasured["status"], unmeasured["score"], unmeasured["feedback"]) == ("unmeasured", None, "no reading")
    failed = cases_of(result, "val", "start")["val0"]
    assert (failed["status"], failed["failure"], failed["output"]) == ("failed", "target", None)
    assert "no output for val0" in failed["error"]


def test_the_difference_is_over_what_both_measured(data: dict[str, Any]) -> None:
    assert {name: data["difference"][name] for name in ("mean", "cases", "unpaired", "wins", "ties", "losses")} == {
        "mean": 0.5, "cases": 2, "unpaired": 1, "wins": 2, "ties": 0, "losses": 0,
    }  # fmt: skip


def test_the_means_on_test_are_over_the_cases_of_the_difference(data: dict[str, Any]) -> None:
    assert (data["baseline"]["test"], data["best"]["test"]) == (
        data["difference"]["start_mean"], data["difference"]["best_mean"],
    )  # fmt: skip
    assert data["best"]["test"] - data["baseline"]["test"] == data["difference"]["mean"]


def test_each_side_has_its_coverage_on_val_and_test(data: dict[str, Any]) -> None:
    start, best = data["baseline"]["coverage"], data["best"]["coverage"]
    assert (start["test"]["measured"], start["test"]["total"]) == (6, 6)
    assert (best["test"]["measured"], best["test"]["unmeasured"], best["test"]["total"]) == (4, 2, 6)
    assert (start["val"]["measured"], start["val"]["target_failures"]) == (6, 2)


def test_the_made_up_reports_of_the_tests_have_the_keys_of_a_real_one(data: dict[str, Any]) -> None:
    made_up = samples.success()
    assert made_up.keys() == data.keys()
    for key in ("baseline", "best", "challenger", "difference", "budget", "engine", "failures"):
        assert made_up[key].keys() == data[key].keys(), key
    assert made_up["budget"]["usd"].keys() == data["budget"]["usd"].keys()
    for key in ("versions", "curve", "rejections", "last_rejections", "cases", "named_scores"):
        assert made_up[key][0].keys() == data[key][0].keys(), key
    assert made_up["baseline"]["coverage"]["test"].keys() == data["baseline"]["coverage"]["test"].keys()
    assert type(made_up["started_at"]) is type(data["started_at"])


def test_every_key_that_the_page_on_the_report_names_is_there(data: dict[str, Any]) -> None:
    page = (Path(__file__).parents[2] / "docs" / "report.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.+?`) \| ", page.split("## Keys of report.json")[1], re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert len(named) > 15
    assert named <= data.keys()


def test_too_few_cases_are_warned_of(data: dict[str, Any]) -> None:
    assert any("2 test cases" in warning or "2 cases" in warning for warning in data["warnings"]), data["warnings"]


def test_time_cost_and_named_scores_are_of_start_and_best(data: dict[str, Any]) -> None:
    assert data["named_scores"] == [{"name": "half", "start": 0.125, "best": 0.375}]
    assert data["time"]["start_ms"] > 0
    assert data["time"]["best_ms"] > 0
    assert data["cost"] == {"start_usd": 0.0, "best_usd": 0.0}
    assert data["ledger"] == []


def test_sizes_rejections_and_the_diff_are_in_it(data: dict[str, Any]) -> None:
    assert data["split_sizes"] == {"train": 2, "val": 3, "test": 3}
    assert data["rejections"] == [{"reason": "it is identical to the version it came from", "count": 1}]
    [last] = data["last_rejections"]
    assert (last["version"], last["reason"]) == (data["versions"][0]["id"], data["rejections"][0]["reason"])
    assert data["versions"][1]["at_call"] < last["at_call"] <= data["versions"][2]["at_call"]
    assert f"-{START}" in data["diff"]
    assert f"+{BETTER}" in data["diff"]
    assert (data["test_seen"], data["labels"], data["error"], data["not_evaluated"]) == (1, False, None, None)


def test_the_stages_of_the_check_are_in_it(data: dict[str, Any]) -> None:
    assert [stage["status"] for stage in data["check"]["stages"]].count("failed") == 0
    assert data["check"]["stages"][0]["name"] == "Metric file"


def test_result_and_report_give_each_other_back(result: RunResult, data: dict[str, Any]) -> None:
    assert result_of(data, Path(str(result.report)), {}) == result
    assert result.run in render_markdown(data)


@pytest.mark.usefixtures("scripted")
class TestOtherEnds:
    def test_versions_that_were_not_tried_on_all_of_val_are_named(
        self, tmp_path: Path, scripted: type[Scripted]
    ) -> None:
        def script(task: SearchTask, evaluator: SearchEvaluator, models: Models) -> None:
            version = evaluator.propose(plan("half", 0.9), task.start)
            evaluator.evaluate(version, task.val[:1])

        scripted.script = script
        result = drive(write_plans(tmp_path, plan("start", 0.25)))
        half = result.data["versions"][1]
        assert result.data["not_evaluated"] == "1 version was not tried on every val case and cannot be the best: v1"
        assert (half["status"], result.changed) == ("candidate", False)

    def test_a_rejected_best_is_shown_with_its_own_figures(self, tmp_path: Path) -> None:
        lucky = plan("lucky", 0.75, test0=0.0, test1=0.0, test2=0.0)
        data = drive(write_plans(tmp_path, plan("start", 0.25), lucky)).data
        assert (data["best"]["version"], data["best"]["test"]) == (data["versions"][0]["id"], 0.25)
        assert (data["challenger"]["version"], data["challenger"]["test"]) == (data["versions"][1]["id"], 0.0)
        assert data["named_scores"] == [{"name": "half", "start": 0.125, "best": 0.0}]

    def test_a_rejected_best_is_shown_beside_the_start(self, tmp_path: Path) -> None:
        lucky = plan("lucky", 0.75, test0=0.0, test1=0.0, test2=0.0)
        data = drive(write_plans(tmp_path, plan("start", 0.25), lucky)).data
        assert [version["status"] for version in data["versions"]] == ["start", "rejected"]
        assert data["changed"] is False
        assert f"+{lucky}" in data["diff"]
        assert {row["best"]["output"] for row in data["cases"] if row["split"] == "test"} == {0.0}

    def test_val_far_above_test_is_warned_of(self, tmp_path: Path) -> None:
        tests = {f"test{number}": 0.3 for number in range(12)}
        folder = write_plans(tmp_path, plan("start", 0.25), plan("lucky", 1.0, **tests), data=rows(val=12, test=12))
        warnings = drive(folder).data["warnings"]
        assert any(warning.startswith("Val is far above test") for warning in warnings), warnings

    def test_test_rows_that_were_seen_before_are_warned_of(self, tmp_path: Path) -> None:
        folder = write_plans(tmp_path, plan("start", 0.25), plan("better", 0.75))
        first, second = drive(folder), drive(folder)
        assert (first.data["test_seen"], second.data["test_seen"]) == (1, 2)
        assert not any("seen" in warning for warning in first.data["warnings"])
        assert any("2 times" in warning for warning in second.data["warnings"])

    def test_a_run_without_a_verdict_has_its_own_report(self, tmp_path: Path) -> None:
        data = drive(write_plans(tmp_path, plan("start", "raise"))).data
        assert data["error"].startswith("the contract check failed at Run output")
        assert (data["cases"], data["curve"], data["difference"], data["test_seen"]) == ([], [], None, 0)
        nothing = {"version": None, "val": None, "test": None, "coverage": {"val": None, "test": None}}
        assert (data["baseline"], data["best"], data["challenger"]) == (nothing,) * 3

    def test_what_the_metric_says_besides_is_kept(self, tmp_path: Path) -> None:
        folder = write_plans(tmp_path, plan("start", 0.25))
        metric = (folder / "metric.py").read_text(encoding="utf-8")
        (folder / "metric.py").write_text(metric.replace('"scores":', '"why": [1, 2], "scores":'), encoding="utf-8")
        assert cases_of(drive(folder), "test", "start")["test0"]["side_info"] == {"why": [1, 2]}


class TestChats:
    def test_the_ledger_adds_up_by_role_and_model(self, tmp_path: Path, model_server: ModelServer) -> None:
        model_server.reply = answer(lambda number: f"```\n{GOOD}\n```")
        result = drive(write_chat(tmp_path, model_server, 'name = "best_of_n"\nn = 1'))
        ledger = {row["role"]: row for row in result.data["ledger"]}
        assert ledger["reflection"]["calls"] == 1
        assert ledger["task"]["calls"] + 1 == len(model_server.requests)
        assert ledger["task"]["usd"] == pytest.approx(
            (ledger["task"]["prompt_tokens"] + 2 * ledger["task"]["completion_tokens"]) / 1e6
        )
        assert result.cost_usd == pytest.approx(sum(row["usd"] for row in ledger.values()))
        assert result.data["budget"]["usd"]["used"] == pytest.approx(result.cost_usd)
        assert result.data["cost"]["start_usd"] > 0

    def test_without_a_price_the_cost_is_unknown_and_not_0(self, tmp_path: Path, model_server: ModelServer) -> None:
        model_server.reply = answer(lambda number: f"```\n{GOOD}\n```")
        result = drive(write_chat(tmp_path, model_server, 'name = "best_of_n"\nn = 1', price=""))
        assert result.cost_usd is None
        assert {row["usd"] for row in result.data["ledger"]} == {None}
        assert result.data["cost"] == {"start_usd": None, "best_usd": None}

    def test_train_rows_in_the_best_prompt_are_warned_of(self, tmp_path: Path, model_server: ModelServer) -> None:
        long = "the parcel with the blue lamp never came to my new address in May"
        data = [{"text": f"text {n} {long}", "label": f"label {n} {long}"} for n in range(10)]
        model_server.reply = answer(lambda number: f"```\n{GOOD} Such as: {long}\n```")
        result = drive(write_chat(tmp_path, model_server, 'name = "best_of_n"\nn = 1', rows=data))
        assert any("share 8 or more words" in warning for warning in result.data["warnings"]), result.data["warnings"]

    @pytest.mark.parametrize("opening", ["", "user:\n"])
    def test_a_train_row_in_any_turn_of_the_prompts_own_is_warned_of(
        self, tmp_path: Path, model_server: ModelServer, opening: str
    ) -> None:
        long = "the parcel with the blue lamp never came to my new address in May"
        data = [{"text": f"text {n} {long}", "label": f"label {n} {long}"} for n in range(10)]

        def reply(body: dict[str, Any]) -> str:
            prompt = str(body["messages"][0]["content"])
            if body["model"] == "writer":
                return f"```\n{opening}{GOOD} Such as: {long}. Now: {{{{ text }}}}\n```"
            return prompt.split("Now: ")[-1].replace("text", "label", 1) if "GOOD" in prompt else "no idea"

        model_server.reply = reply
        start = f"{opening}Say it. Now: {{{{ text }}}}"
        result = drive(write_chat(tmp_path, model_server, 'name = "best_of_n"\nn = 1', start=start, rows=data))
        assert result.changed
        assert any("share 8 or more words" in warning for warning in result.data["warnings"]), result.data["warnings"]

    def test_demonstrations_are_listed_and_not_warned_of(self, tmp_path: Path, model_server: ModelServer) -> None:
        def reply(body: dict[str, Any]) -> str:
            last = str(body["messages"][-1]["content"])
            return last.replace("text", "label", 1) if len(body["messages"]) > 2 else "no idea"

        long = "the parcel with the blue lamp never came to my new address in May"
        data = [{"text": f"text {n} {long}", "label": f"label {n} {long}"} for n in range(10)]
        model_server.reply = reply
        result = drive(write_chat(tmp_path, model_server, 'name = "demos"\nlabels = true', rows=data))
        assert result.changed
        assert all(" -> label" in line for line in result.data["demonstrations"])
        assert not any("share 8 or more words" in warning for warning in result.data["warnings"])


def test_nothing_of_the_project_is_run_for_the_report(tmp_path: Path) -> None:
    with installed(tmp_path / "plugin"):
        folder = write_plans(tmp_path / "project", plan("start", 0.25))
        result = drive(folder)
    shown = {(row["split"], row["case"]) for row in result.data["cases"]}
    assert sum(not case.startswith("train") for _, case in ran(folder)) == len(shown)


@pytest.mark.parametrize("priced", [True, False])
def test_the_report_says_when_its_dollars_are_a_lower_bound(
    model_server: ModelServer, tmp_path: Path, priced: bool
) -> None:
    model_server.reply = add_missing_word
    folder = write_words_project(tmp_path, model_server.url, engine='{ name = "best_of_n", n = 1 }', delay=0.0)
    if not priced:
        spec = folder / "skynet.toml"
        spec.write_text(spec.read_text().replace(", price = { input = 1.0, output = 2.0 }", ""))
    notes = run_project(load_spec(folder)).data["notes"]
    assert any("lower bound" in note for note in notes) is not priced
