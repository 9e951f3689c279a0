from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from skynet.engine import Models, SearchEvaluator, SearchTask
from skynet.evaluation.record import Record
from skynet.runs.books import RunBooks
from skynet.runs.engines import EngineError
from skynet.runs.fault import StoreError
from skynet.runs.money import Refused
from skynet.runs.session import Given, Hooks, open_store, run_project
from skynet.spec import load_spec
from tests.loopback import ModelServer, model_server
from tests.projects import CHAT, model, write_project

from .plans import drive, plan, ran, rows, seed_that_samples_train, write_plans
from .processes import ROOT
from .scripted import Scripted, install, scripted

__all__ = ["model_server", "scripted"]

START, BETTER = plan("start", 0.25), plan("better", 0.75)
SECONDS = 8.0  # a run stops within two; the rest is what a machine may be busy with otherwise
KEYS = [
    "run", "name", "status", "finish_reason", "engine", "changed", "rejected", "baseline", "best", "difference",
    "metric_calls", "cost_usd", "report", "error",
]  # fmt: skip


@pytest.mark.usefixtures("scripted")
class TestOneRun:
    def test_the_result_has_the_fields_of_the_command_line(self, tmp_path: Path) -> None:
        result = drive(write_plans(tmp_path, START, BETTER)).to_json()
        assert list(result) == KEYS
        assert set(result["baseline"]) == {"val", "test"}
        assert set(result["best"]) == {"version", "val", "test"}
        assert set(result["difference"]) == {"mean", "low", "high", "p"}

    def test_row_report_and_result_say_the_same(self, tmp_path: Path) -> None:
        result = drive(write_plans(tmp_path, START, BETTER))
        assert result.report is not None
        report = json.loads(Path(result.report).with_name("report.json").read_text(encoding="utf-8"))
        with open_store(tmp_path, create=False) as store:
            row = store.run(result.run)
        assert (row.status, row.finish_reason, row.result) == ("finished", "engine_done", result.to_json())
        assert row.ended_at is not None
        assert (report["status"], report["finish_reason"]) == (row.status, row.finish_reason)
        assert {name: report["best"][name] for name in result.best} == dict(result.best)

    def test_the_surfaces_hear_what_happens(self, tmp_path: Path) -> None:
        heard: list[str] = []
        hooks = Hooks(
            on_stage=lambda stage: heard.append(stage.name),
            on_outlook=lambda outlook: heard.append(outlook.sentence()),
            on_runner=lambda runner, row: heard.append(row.id),
        )
        result = run_project(load_spec(write_plans(tmp_path, START)), Given(accept=True), hooks)
        assert heard[0].startswith("Of 100 metric calls, check, start and sealed pass take up to 16; the rest buys")
        assert heard[1] == result.run
        assert heard[2:4] == ["Metric file", "Metric load"]

    def test_two_runs_from_one_spec_object_are_independent(self, tmp_path: Path) -> None:
        spec = load_spec(write_plans(tmp_path, START, BETTER))
        first, second = (run_project(spec, Given(accept=True)) for _ in range(2))
        assert first.run != second.run
        assert first.metric_calls == second.metric_calls
        assert (first.best, first.difference) == (second.best, second.difference)
        assert (first.data["test_seen"], second.data["test_seen"]) == (1, 2)

    def test_an_unexpected_error_is_in_the_row_and_what_was_paid_stays(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(*_: object, **__: object) -> None:
            raise IndexError("a bug of ours")

        monkeypatch.setattr("skynet.runs.runner.judge", broken)
        with pytest.raises(IndexError):
            drive(write_plans(tmp_path, START, BETTER))
        with open_store(tmp_path, create=False) as store:
            (row,) = store.runs()
            assert (row.status, row.finish_reason) == ("failed", "error")
            assert row.state["error"] == "IndexError: a bug of ours"
            assert RunBooks(store, row).journal.count("evaluation") > 10


@pytest.mark.usefixtures("scripted")
class TestRefusals:
    def test_a_budget_without_any_limit_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(Refused, match=r"\[budget\] is missing"):
            drive(write_plans(tmp_path, START, budget=""))

    def test_a_budget_that_buys_no_proposal_is_refused_unless_accepted(self, tmp_path: Path) -> None:
        spec = load_spec(write_plans(tmp_path, START, budget="metric_calls = 18"))
        with pytest.raises(Refused, match="buys no proposal"):
            run_project(spec)
        assert run_project(spec, Given(accept=True)).status == "finished"

    def test_an_unknown_engine_is_refused_with_the_known_ones(self, tmp_path: Path) -> None:
        with pytest.raises(EngineError, match=r"no engine 'script'.*Did you mean 'scripted'"):
            drive(write_plans(tmp_path, START, engine='name = "script"'))

    def test_an_unknown_option_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(EngineError, match="no such option"):
            drive(write_plans(tmp_path, START, engine='name = "scripted"\ntexst = []'))

    def test_an_engine_that_does_not_apply_is_refused_with_its_reason(
        self, tmp_path: Path, scripted: type[Scripted]
    ) -> None:
        scripted.refusal = "it knows songs only"
        with pytest.raises(EngineError, match="'scripted' cannot work on this project: it knows songs only"):
            drive(write_plans(tmp_path, START))

    def test_a_dollar_budget_with_an_unpriced_model_is_refused_unless_accepted(
        self, tmp_path: Path, model_server: ModelServer
    ) -> None:
        more = model(model_server.url, "task", price="") + '[budget]\nusd = 5.0\n[engine]\nname = "scripted"\n'
        spec = load_spec(write_project(tmp_path, target=CHAT, start="Say it.", more=more))
        with pytest.raises(Refused, match="price"):
            run_project(spec)
        assert run_project(spec, Given(accept=True)).status == "finished"

    @pytest.fixture(autouse=True)
    def _nothing_is_stored_or_run(self, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[None]:
        yield
        if "unless_accepted" not in request.node.name:
            assert not (tmp_path / ".skynet").exists()
            assert not (tmp_path / "ran.txt").exists()


@pytest.mark.usefixtures("scripted")
def test_a_store_that_is_deleted_mid_run_ends_it_with_a_clear_error(tmp_path: Path, scripted: type[Scripted]) -> None:
    def script(task: SearchTask, evaluator: SearchEvaluator, models: Models) -> None:
        shutil.rmtree(tmp_path / ".skynet")
        evaluator.evaluate(evaluator.propose(BETTER, task.start), task.val)

    scripted.script = script
    with pytest.raises(StoreError, match="was deleted or replaced while it was open"):
        drive(write_plans(tmp_path, START))
    assert ("better", "val0") not in ran(tmp_path)


@pytest.mark.usefixtures("scripted")
def test_two_runs_at_once_in_one_project_do_not_disturb_each_other(tmp_path: Path) -> None:
    folder = write_plans(tmp_path / "project", START, plan("worse", 0.1), BETTER, data=rows(val=12))
    with running(folder, tmp_path) as one, running(folder, tmp_path) as two:
        first, second = (json.loads(process.communicate(timeout=60)[0]) for process in (one, two))
    assert first["run"] != second["run"]
    assert first["status"] == second["status"] == "finished"
    assert first["metric_calls"] == second["metric_calls"]
    with open_store(folder, create=False) as store:
        for result in (first, second):
            books = RunBooks(store, store.run(result["run"]))
            records = [Record.from_json(body) for _, body in books.journal.entries("evaluation")]
            assert sum(record.metric_called for record in records) == result["metric_calls"]
            assert len(books.versions.all()) == 3


@contextmanager
def running(folder: Path, plugin: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """Run `skynet run --json` as a terminal does, in a process group of its own."""
    environ = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(install(plugin))])}
    process = subprocess.Popen(
        [sys.executable, "-m", "skynet.cli.main", "run", str(folder), "--json", "--yes", *options],
        env=environ, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def interrupt(process: subprocess.Popen[str]) -> tuple[dict[str, Any], float]:
    """Press Ctrl-C; return what was printed, and the seconds until the process was gone."""
    began = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    seconds = time.monotonic() - began
    assert process.returncode == 130, err
    return json.loads(out), seconds


def wait_for(folder: Path, *cases: tuple[str, str]) -> None:
    """Wait until the target was begun on these cases."""
    deadline = time.monotonic() + 60
    while not (folder / "ran.txt").exists() or not set(cases) <= set(ran(folder)):
        assert time.monotonic() < deadline, "the run did not come so far"
        time.sleep(0.02)


def stored(folder: Path, run: str) -> tuple[str, Any, list[Record]]:
    with open_store(folder, create=False) as store:
        row = store.run(run)
        bodies = [body for _, body in RunBooks(store, row).journal.entries("evaluation")]
    return row.status, row.finish_reason, [Record.from_json(body) for body in bodies]


def check_interrupted(folder: Path, result: Mapping[str, Any]) -> list[Record]:
    """Check what every interrupted run shows; return what it paid."""
    status, reason, records = stored(folder, result["run"])
    assert (result["status"], result["finish_reason"]) == (status, reason) == ("interrupted", None)
    assert result["metric_calls"] == sum(record.metric_called for record in records)
    assert (result["difference"], result["baseline"]["test"], result["best"]["test"]) == (None, None, None)
    assert Path(result["report"]).exists()
    return records


def test_ctrl_c_while_a_case_hangs_in_the_check(tmp_path: Path) -> None:
    folder = write_plans(tmp_path / "project", plan("start", "hang"))
    with running(folder, tmp_path) as process:
        wait_for(folder)
        result, seconds = interrupt(process)
    assert seconds < SECONDS
    assert check_interrupted(folder, result) == []


def test_ctrl_c_while_a_case_hangs_in_the_search_keeps_all_that_was_paid(tmp_path: Path) -> None:
    folder = write_plans(tmp_path / "project", START, BETTER, plan("stuck", 0.5, val1="hang"))
    with running(folder, tmp_path) as process:
        wait_for(folder, ("stuck", "val0"), ("stuck", "val1"), ("stuck", "val2"))
        result, seconds = interrupt(process)
    assert seconds < SECONDS
    records = check_interrupted(folder, result)
    assert (result["baseline"]["val"], result["best"]["val"]) == (0.25, 0.75)
    assert sum(record.score == 0.75 for record in records) == 3


def test_ctrl_c_while_cases_hang_in_the_starts_val_pass(tmp_path: Path) -> None:
    data = rows(train=20, val=20)
    stuck = {f"val{number}": "hang" for number in range(20)}
    folder = write_plans(tmp_path / "project", plan("start", 0.5, **stuck), data=data)
    seed = seed_that_samples_train(folder)
    toml = (folder / "skynet.toml").read_text(encoding="utf-8")
    (folder / "skynet.toml").write_text(toml.replace("[evaluation]", f"seed = {seed}\n[evaluation]"), encoding="utf-8")
    with running(folder, tmp_path) as process:
        wait_for(folder, ("start", "val0"), ("start", "val1"))
        result, seconds = interrupt(process)
    assert seconds < SECONDS
    check_interrupted(folder, result)
    assert not any(case == "val5" for _, case in ran(folder))


def test_ctrl_c_while_the_engine_hangs(tmp_path: Path) -> None:
    texts = json.dumps([BETTER])
    folder = write_plans(tmp_path / "project", START, engine=f'name = "scripted"\nhang = true\ntexts = {texts}')
    with running(folder, tmp_path) as process:
        wait_for(folder, ("better", "val0"), ("better", "val1"), ("better", "val2"))
        time.sleep(0.3)
        result, seconds = interrupt(process)
    assert seconds < SECONDS
    check_interrupted(folder, result)
    assert result["best"]["val"] == 0.75


def test_ctrl_c_while_a_model_is_silent(tmp_path: Path, model_server: ModelServer) -> None:
    model_server.latency = 30
    more = model(model_server.url, "task") + '[budget]\nmetric_calls = 90\n[engine]\nname = "scripted"\n'
    folder = write_project(tmp_path / "project", target=CHAT, start="Say it.", more=more)
    with running(folder, tmp_path) as process:
        deadline = time.monotonic() + 60
        while not model_server.requests:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        result, seconds = interrupt(process)
    assert seconds < SECONDS
    check_interrupted(folder, result)


def test_ctrl_c_while_cases_hang_in_the_verdict(tmp_path: Path) -> None:
    folder = write_plans(tmp_path / "project", START, plan("better", 0.75, test1="hang"))
    with running(folder, tmp_path) as process:
        wait_for(folder, ("better", "test1"), ("better", "test2"), ("start", "test2"))
        result, seconds = interrupt(process)
    assert seconds < SECONDS
    records = check_interrupted(folder, result)
    assert result["best"]["val"] == 0.75
    assert len(records) > 10
