from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from skynet.engine import Models, Rejected, SearchEvaluator, SearchTask
from skynet.runs.events import Events
from skynet.runs.runner import FINISHED, STOPPED, status_of
from skynet.runs.session import open_store

from .plans import METRIC, cases_of, drive, plan, ran, rows, scored, seed_that_samples_train, write_plans
from .scripted import Scripted, scripted

__all__ = ["scripted"]

pytestmark = pytest.mark.usefixtures("scripted")

START = plan("start", 0.25)
BETTER = plan("better", 0.75)


def on_test(folder: Path) -> list[tuple[str, str]]:
    return [(name, case) for name, case in ran(folder) if case.startswith("test")]


def events(folder: Path, run: str) -> list[dict[str, Any]]:
    with open_store(folder, create=False) as store:
        return [event.as_json() for event in Events(store, store.run(run)).read()]


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        *((reason, "finished") for reason in FINISHED),
        *((reason, "stopped") for reason in STOPPED),
        ("cancelled", "cancelled"),
        (None, "interrupted"),
        *(
            (reason, "failed")
            for reason in (
                "budget_too_small", "check_failed", "target_broken", "metric_broken", "reflection_broken", "provider",
                "error",
            )
        ),
    ],
)  # fmt: skip
def test_each_finish_reason_has_its_status(reason: str | None, status: str) -> None:
    assert status_of(reason) == status


def test_a_better_version_is_the_best_and_is_proved_on_test(tmp_path: Path) -> None:
    folder = write_plans(tmp_path, START, plan("worse", 0.1), BETTER)
    result = drive(folder)
    assert (result.status, result.finish_reason, result.changed, result.rejected) == (
        "finished", "engine_done", True, None,
    )  # fmt: skip
    assert result.baseline == {"version": result.data["versions"][0]["id"], "val": 0.25, "test": 0.25}
    assert (result.best["val"], result.best["test"], result.best.text) == (0.75, 0.75, BETTER)
    assert result.difference is not None
    assert result.difference["mean"] == 0.5


def test_start_and_best_run_on_test_once_and_interleaved_case_by_case(tmp_path: Path) -> None:
    folder = write_plans(tmp_path, START, BETTER, more="", data=rows(test=4))
    given = {"evaluation": {"concurrency": 1}}
    drive(folder, given)
    names = [name for name, _ in on_test(folder)]
    cases = [case for _, case in on_test(folder)]
    assert names == ["start", "better"] * 4
    assert cases[::2] == cases[1::2]
    assert sorted(cases[::2]) == ["test0", "test1", "test2", "test3"]


def test_test_is_never_run_before_the_search_has_ended(tmp_path: Path) -> None:
    folder = write_plans(tmp_path, START, BETTER)
    drive(folder)
    order = [case[:4] for _, case in ran(folder)]
    assert order.index("test") > max(number for number, part in enumerate(order) if part != "test")


def test_without_a_better_version_only_the_start_runs_on_test_and_nothing_changes(tmp_path: Path) -> None:
    folder = write_plans(tmp_path, START, plan("worse", 0.1))
    result = drive(folder)
    assert {name for name, _ in on_test(folder)} == {"start"}
    assert (result.changed, result.difference, result.best) == (False, None, result.baseline)


def test_a_best_that_is_worse_on_test_is_rejected_and_the_figures_stay(tmp_path: Path) -> None:
    folder = write_plans(tmp_path, START, plan("lucky", 0.75, test0=0.0, test1=0.0, test2=0.0))
    result = drive(folder)
    assert (result.status, result.changed) == ("finished", False)
    assert result.best == result.baseline
    assert result.rejected == result.data["versions"][1]["id"]
    assert result.difference is not None
    assert result.difference["mean"] == -0.25
    assert [row["best"]["score"] for row in result.data["cases"] if row["split"] == "test"] == [0.0, 0.0, 0.0]


def test_a_start_at_the_maximum_on_all_of_val_is_perfect_and_no_proposal_is_bought(
    tmp_path: Path, scripted: type[Scripted]
) -> None:
    def script(task: SearchTask, evaluator: SearchEvaluator, models: Models) -> None:
        pytest.fail("the engine was started")

    scripted.script = script
    result = drive(write_plans(tmp_path, plan("start", 1.0)))
    assert (result.status, result.finish_reason, result.baseline["test"]) == ("finished", "perfect", 1.0)


@pytest.mark.parametrize(("maximum", "reason"), [("maximum = 0.5", "perfect"), ("maximum = 2.0", "engine_done")])
def test_the_maximum_of_the_spec_says_what_perfect_is(tmp_path: Path, maximum: str, reason: str) -> None:
    value = 0.5 if reason == "perfect" else 1.0
    assert drive(write_plans(tmp_path, plan("start", value), metric=maximum)).finish_reason == reason


def test_a_score_above_1_says_that_1_is_not_the_maximum(tmp_path: Path) -> None:
    result = drive(write_plans(tmp_path, plan("start", 1.0, val0=30.0)))
    assert result.finish_reason == "engine_done"


@pytest.mark.parametrize(("value", "reason"), [(1.0, "engine_done"), (5.0, "perfect")])
def test_the_range_that_a_metric_declares_says_what_perfect_is(tmp_path: Path, value: float, reason: str) -> None:
    folder = write_plans(tmp_path, plan("start", value))
    ranged = '\n\nplain = score\n\ndef score(input, output, expected=None):\n    value, info = plain(input, output)\n'
    ranged += '    return value, {**info, "range": [0, 5]}\n'
    (folder / "metric.py").write_text(METRIC + ranged)
    assert drive(folder).finish_reason == reason


def test_an_engine_that_repeats_itself_has_converged(tmp_path: Path, scripted: type[Scripted]) -> None:
    def script(task: SearchTask, evaluator: SearchEvaluator, models: Models) -> None:
        while True:
            try:
                evaluator.propose(START, task.start)
            except Rejected:
                continue

    scripted.script = script
    result = drive(write_plans(tmp_path, START))
    assert (result.status, result.finish_reason) == ("finished", "converged")
    assert result.data["rejections"] == [{"reason": "it is identical to the version it came from", "count": 20}]
    assert result.baseline["test"] == 0.25


def test_the_search_stops_at_the_budget_and_the_sealed_pass_is_paid_all_the_same(tmp_path: Path) -> None:
    passes = 7 + 3 + 2 * 3
    texts = [plan(f"v{number}", 0.5 + number / 100) for number in range(9)]
    result = drive(write_plans(tmp_path, START, *texts, budget=f"metric_calls = {passes + 4}"))
    assert (result.status, result.finish_reason) == ("stopped", "budget_metric_calls")
    assert result.changed
    assert result.best["test"] is not None
    assert result.metric_calls <= passes + 4


def test_the_smallest_budget_is_named_and_does(tmp_path: Path) -> None:
    refused = drive(write_plans(tmp_path, START, budget="metric_calls = 15"))
    assert (refused.status, refused.finish_reason, refused.metric_calls) == ("failed", "budget_too_small", 0)
    assert "metric_calls = 16 " in refused.message
    assert not (tmp_path / "ran.txt").exists()
    assert not (tmp_path / "scored.txt").exists()
    result = drive(write_plans(tmp_path, START, budget="metric_calls = 16"))
    assert result.status in ("finished", "stopped")
    assert result.baseline["test"] == 0.25


def test_repeats_are_part_of_what_the_passes_cost(tmp_path: Path) -> None:
    refused = drive(write_plans(tmp_path, START, budget="metric_calls = 24", repeats=2))
    assert "metric_calls = 25 (7 for the contract check, 6 for the start on val, 12 for" in refused.message


def test_every_score_of_the_run_is_counted_and_none_beyond_the_budget(tmp_path: Path) -> None:
    result = drive(write_plans(tmp_path, START, BETTER))
    assert result.metric_calls == len(scored(tmp_path))
    assert result.data["budget"]["metric_calls"] == {"limit": 100, "used": result.metric_calls}


def test_nothing_is_executed_twice(tmp_path: Path) -> None:
    drive(write_plans(tmp_path, START, BETTER, data=rows(train=4)))
    assert len(ran(tmp_path)) == len(set(ran(tmp_path)))


def test_a_failed_check_ends_the_run_before_anything_else_is_spent(tmp_path: Path) -> None:
    result = drive(write_plans(tmp_path, plan("start", "metric returns text")))
    assert (result.status, result.finish_reason) == ("failed", "check_failed")
    assert "Metric return value" in result.message
    assert len(ran(tmp_path)) == 3
    assert result.data["versions"] == []
    assert (result.best["version"], result.baseline["val"]) == (None, None)


def test_a_target_that_always_fails_fails_the_check(tmp_path: Path) -> None:
    result = drive(write_plans(tmp_path, plan("start", "raise")))
    assert (result.status, result.finish_reason) == ("failed", "check_failed")
    assert "no output for" in result.message


def test_a_target_that_fails_on_all_of_val_is_broken_and_the_rest_of_the_pass_is_not_run(tmp_path: Path) -> None:
    values = {f"val{number}": "raise" for number in range(40)}
    data = rows(train=20, val=40)
    folder = write_plans(tmp_path, plan("start", 0.5, **values), data=data, budget="metric_calls = 400")
    result = drive(folder, {"data": {"seed": seed_that_samples_train(folder)}})
    assert (result.status, result.finish_reason) == ("failed", "target_broken")
    assert "ValueError: no output for val" in result.message
    assert sum(case.startswith("val") for _, case in ran(folder)) <= 12
    assert result.metric_calls == len(scored(folder))


def test_a_metric_that_fails_on_the_winner_only_is_told_with_case_and_cause_and_all_figures(tmp_path: Path) -> None:
    folder = write_plans(tmp_path, START, plan("better", 0.75, test1="metric raises"))
    result = drive(folder)
    assert (result.status, result.finish_reason) == ("failed", "metric_broken")
    case = next(row["case"] for row in result.data["cases"] if row["input"]["text"] == "test1")
    assert f"failed twice on test case {case} " in result.message
    assert "RuntimeError: no luck" in result.message
    assert "metric.py" in result.message
    assert on_test(folder).count(("better", "test1")) == 2
    best, start = cases_of(result, "test", "best"), cases_of(result, "test", "start")
    assert {text: side["score"] for text, side in start.items()} == {"test0": 0.25, "test1": 0.25, "test2": 0.25}
    assert {text: side["score"] for text, side in best.items()} == {"test0": 0.75, "test1": None, "test2": 0.75}
    assert "no luck" in best["test1"]["error"]
    assert (result.difference, result.baseline["test"], result.best["test"]) == (None, 0.25, 0.75)


def test_a_metric_failure_in_the_verdict_is_tried_once_more(tmp_path: Path) -> None:
    flaky = {"first": "metric raises", "later": 0.75}
    result = drive(write_plans(tmp_path, START, plan("better", 0.75, test1=flaky)))
    assert (result.status, result.finish_reason, result.best["test"]) == ("finished", "engine_done", 0.75)
    assert on_test(tmp_path).count(("better", "test1")) == 2


def test_without_a_metric_call_left_for_the_second_try_the_figures_stay(tmp_path: Path) -> None:
    used = drive(write_plans(tmp_path / "enough", START, BETTER)).metric_calls
    broken = plan("better", 0.75, test1={"first": "metric raises", "later": 0.75})
    result = drive(write_plans(tmp_path / "spent", START, broken, budget=f"metric_calls = {used}"))
    assert (result.status, result.finish_reason, result.metric_calls) == ("failed", "metric_broken", used)
    assert "could not be tried once more: the budget [budget] metric_calls is spent" in result.message
    assert cases_of(result, "test", "start")["test0"]["score"] == 0.25


def test_a_target_that_fails_on_test_counts_as_the_failure_score(tmp_path: Path) -> None:
    result = drive(write_plans(tmp_path, START, plan("better", 0.75, test1="raise")))
    assert result.best["test"] == 0.5
    assert cases_of(result, "test", "best")["test1"]["failure"] == "target"
    assert result.status == "finished"


def test_an_unmeasured_test_case_is_compared_on_neither_side(tmp_path: Path) -> None:
    result = drive(write_plans(tmp_path, START, plan("better", 0.75, test1="unmeasured")))
    assert result.data["difference"]["cases"] == 2
    assert result.data["difference"]["unpaired"] == 1
    assert result.best["test"] == 0.75


def test_the_failure_score_is_the_lowest_of_the_start_where_that_is_below_0(tmp_path: Path) -> None:
    result = drive(write_plans(tmp_path, plan("start", -1.0, val0=-3.0), plan("v", 9.0, val1="raise")))
    assert result.data["versions"][1]["val"] == 5.0
    assert result.best["test"] == 9.0


@pytest.mark.parametrize(("cases", "warned"), [({}, True), ({"val1": 0.5}, False)])
def test_a_start_that_fails_on_every_val_case_is_warned_of(
    tmp_path: Path, cases: dict[str, float], warned: bool
) -> None:
    values = {f"val{number}": "raise" for number in range(3)} | cases
    folder = write_plans(tmp_path, plan("start", 0.25, **values), data=rows(train=20))
    notes = drive(folder, {"data": {"seed": seed_that_samples_train(folder)}}).data["notes"]
    told = r"The start failed on every val case: ValueError: no output for val\d \(run.py, line"
    assert bool([note for note in notes if re.match(told, note)]) is warned


def test_a_given_failure_score_stands(tmp_path: Path) -> None:
    folder = write_plans(tmp_path, START, plan("v", 0.75, val1="raise"), metric="failure_score = -3.0")
    assert drive(folder).data["versions"][1]["val"] == -0.5


def test_one_row_is_enough_for_a_run_and_the_report_says_what_is_missing(tmp_path: Path) -> None:
    result = drive(write_plans(tmp_path, START, BETTER, data=rows(train=1, val=0, test=0)))
    assert (result.status, result.changed) == ("finished", True)
    assert (result.best["val"], result.best["test"], result.difference) == (0.75, None, None)
    assert any("val" in warning for warning in result.data["data_warnings"])
    assert any("test" in warning for warning in result.data["data_warnings"])


def test_equal_rows_in_two_splits_are_warned_of_and_run_one_by_one(tmp_path: Path) -> None:
    twin = {"text": "twin", "label": 1.0}
    data = [*rows(), {**twin, "part": "val"}, {**twin, "part": "test"}]
    result = drive(write_plans(tmp_path, START, BETTER, data=data))
    assert result.status == "finished"
    assert any("leak: 1 input stands in val and in test" in warning for warning in result.data["data_warnings"])
    assert ran(tmp_path).count(("better", "twin")) == 2


def test_rows_without_expected_values_are_run(tmp_path: Path) -> None:
    data = [{"text": row["text"], "part": row["part"], "label": None} for row in rows()]
    result = drive(write_plans(tmp_path, START, BETTER, data=data))
    assert (result.status, result.best["test"]) == ("finished", 0.75)
    assert {row["expected"] is None for row in result.data["cases"]} == {True}


def test_labels_reach_only_an_engine_that_was_given_them(tmp_path: Path, scripted: type[Scripted]) -> None:
    seen: list[SearchTask] = []
    scripted.script = lambda task, evaluator, models: seen.append(task)
    drive(write_plans(tmp_path / "without", START))
    result = drive(write_plans(tmp_path / "with", START, engine='name = "scripted"\nlabels = true'))
    without, given = seen
    assert without.labelled_train == ()
    assert [case.expected for case in given.labelled_train] == [{"label": 1.0}] * 2
    assert result.data["labels"] is True
    for task in seen:
        assert all(not hasattr(case, "expected") for case in (*task.train, *task.val))
        assert {case.input["text"][:4] for case in (*task.train, *task.val)} == {"trai", "val0", "val1", "val2"}
        assert all(set(case.input) == {"text"} for case in (*task.train, *task.val))


def test_an_engine_that_breaks_is_an_error_with_its_cause(tmp_path: Path, scripted: type[Scripted]) -> None:
    def script(task: SearchTask, evaluator: SearchEvaluator, models: Models) -> None:
        raise IndexError("a bug of the plugin")

    scripted.script = script
    result = drive(write_plans(tmp_path, START))
    assert (result.status, result.finish_reason) == ("failed", "error")
    assert "the engine failed: a bug of the plugin" in result.message
    assert result.baseline["val"] == 0.25


def test_the_events_tell_the_run_in_order(tmp_path: Path) -> None:
    result = drive(write_plans(tmp_path, START, plan("start", 0.25), BETTER))
    told = events(tmp_path, result.run)
    kinds = [event["kind"] for event in told if event["kind"] != "evaluated"]
    assert kinds == ["state", "budget", "proposed", "accepted", "lane", "rejected", "proposed", "accepted", "state"]
    assert [event["seq"] for event in told] == list(range(1, len(told) + 1))
    assert told[0]["reason"] == "running"
    assert told[-1]["reason"] == "engine_done"
    assert sum(event["kind"] == "evaluated" for event in told) == result.metric_calls


def test_named_scores_that_stand_on_some_cases_only_are_warned_of_once(tmp_path: Path) -> None:
    folder = write_plans(tmp_path, START, BETTER)
    metric = (folder / "metric.py").read_text(encoding="utf-8")
    some = metric.replace('"scores": {"half": output / 2}', '"scores": {"some": 1} if input["text"] == "val0" else {}')
    (folder / "metric.py").write_text(some, encoding="utf-8")
    warnings = [warning for warning in drive(folder).data["warnings"] if "'some'" in warning]
    assert len(warnings) == 1
    assert "2 of 6" in warnings[0]


def test_a_speed_reference_near_the_clocks_floor_is_warned_of(tmp_path: Path) -> None:
    folder = write_plans(tmp_path, START)
    metric = (
        "import skynet\n"
        'REWARD_SPEC = {"weights": {"accuracy": 0.5, "speed": 0.5, "cost": 0}, "speed": {"reference": 0.01}}\n'
        "def score(input, output, expected=None):\n"
        '    return skynet.reward(REWARD_SPEC, output, "fine")\n'
    )
    (folder / "metric.py").write_text(metric, encoding="utf-8")
    result = drive(folder)
    assert result.data["time"]["clock_floor_ms"] > 0
    assert any("clock's floor" in note for note in result.data["notes"]), json.dumps(result.data["notes"])
