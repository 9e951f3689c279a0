"""No budget is ever overshot: calls counted by the metric itself, dollars by the model's provider."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.loopback import ModelServer
from tests.runs.cut_runs import HUNGRY, JUDGE, MANY, Drivers, answer, server_usd, told, write_loud_project
from tests.runs.loud_programs import PROGRAM_ENGINES, write_loud_program
from tests.runs.quick_runs import QuickRuns, scored

NOWHERE = "http://127.0.0.1:1/v1"
SMALLEST = 7 + 3 * len(MANY)  # the check, the start on val, start and best on test
ENDS = ("budget_metric_calls", "engine_done", "converged")
PROGRAMS = [pytest.param(name, marks=pytest.mark.xdist_group("dspy")) for name in PROGRAM_ENGINES]
ENGINES = [*HUNGRY, *PROGRAMS]


def write_hungry(folder: Path, engine: str) -> Path:
    """Write a project whose engine stands in HUNGRY or in PROGRAM_ENGINES."""
    if engine in HUNGRY:
        return write_loud_project(folder, NOWHERE, HUNGRY[engine], words=MANY)
    return write_loud_program(folder, NOWHERE, PROGRAM_ENGINES[engine], words=MANY)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> QuickRuns:
    return QuickRuns(monkeypatch)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_metric_is_never_called_more_often_than_the_budget_says(
    quick: QuickRuns, tmp_path: Path, engine: str
) -> None:
    folder = write_hungry(tmp_path, engine)
    some = random.Random(engine).sample(range(SMALLEST + 2, 301), 2 if engine in HUNGRY else 1)
    for budget in (1, SMALLEST - 1, SMALLEST, *some):
        result = quick.run(folder, metric_calls=budget)
        assert scored(folder) == result.metric_calls <= budget
        if budget < SMALLEST:
            assert (result.status, result.finish_reason) == ("failed", "budget_too_small")
            assert f"metric_calls = {SMALLEST}" in result.message
            assert scored(folder) == quick.model.requests == 0
        else:
            assert result.finish_reason in ENDS, result.message
            assert result.best["test"] is not None


@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_that_plans_for_more_than_there_is_does_not_get_it(
    quick: QuickRuns, tmp_path: Path, engine: str
) -> None:
    quick.blindfold()
    folder = write_hungry(tmp_path, engine)
    budget = SMALLEST + 3
    result = quick.run(folder, metric_calls=budget)
    assert scored(folder) == result.metric_calls <= budget
    assert result.finish_reason == "budget_metric_calls"
    assert result.best["test"] is not None


@pytest.mark.parametrize("engine", ENGINES)
def test_a_stop_by_the_budget_ends_with_the_best_evaluated_version_and_names_the_others(
    quick: QuickRuns, tmp_path: Path, engine: str
) -> None:
    folder = write_hungry(tmp_path, engine)
    result = quick.run(folder, metric_calls=SMALLEST + 4)
    assert (result.status, result.finish_reason) == ("stopped", "budget_metric_calls")
    tried = [item for item in result.data["versions"] if item["val"] is not None]
    assert result.best["val"] == max(item["val"] for item in tried)
    left = [f"v{number}" for number, item in enumerate(result.data["versions"]) if item["val"] is None]
    assert all(version in (result.data["not_evaluated"] or "") for version in left)


@pytest.mark.parametrize("engine", HUNGRY)
@pytest.mark.parametrize("usd", [0.0001, 0.0115, 0.02])
def test_the_provider_never_bills_more_than_the_budget(
    quick: QuickRuns, tmp_path: Path, engine: str, usd: float
) -> None:
    folder = write_hungry(tmp_path, engine)
    result = quick.run(folder, metric_calls=400, usd=usd)
    assert result.cost_usd == pytest.approx(quick.model.total, abs=1e-12)
    assert quick.model.total <= usd
    if result.finish_reason == "budget_too_small":
        assert scored(folder) == quick.model.requests == 0
        assert "usd = 0.0" in result.message


@pytest.mark.parametrize("engine", PROGRAMS)
def test_the_provider_of_a_program_never_bills_more_than_the_budget(
    quick: QuickRuns, tmp_path: Path, engine: str
) -> None:
    for usd, ends in ((0.0001, ["budget_too_small"]), (0.0112, ["budget_usd", "engine_done"])):
        result = quick.run(write_hungry(tmp_path, engine), metric_calls=400, usd=usd)
        assert result.finish_reason in ends, result.message
        assert result.cost_usd == pytest.approx(quick.model.total, abs=1e-12)
        assert quick.model.total <= usd
        assert (result.best["test"] is None) == (quick.model.total == 0.0)


@pytest.mark.parametrize(
    ("role", "usd", "engine"), [("reflection", 0.003, "gepa"), ("task", 0.0075, "demos"), ("metric", 0.006, "gepa")]
)
def test_a_role_never_costs_more_than_its_cap(
    quick: QuickRuns, tmp_path: Path, role: str, usd: float, engine: str
) -> None:
    quick.judge = True
    folder = write_loud_project(tmp_path, NOWHERE, HUNGRY[engine], words=MANY, metric=JUDGE)
    result = quick.run(folder, metric_calls=300, usd_by_role={role: usd})
    assert 0 < quick.model.usd[role] <= usd
    assert result.finish_reason == "budget_usd"
    assert f"usd_by_role.{role}" in (result.data["error"] or result.data["not_evaluated"] or "") or result.message == ""


def test_a_judge_that_may_not_pay_any_more_has_its_last_metric_call_counted(quick: QuickRuns, tmp_path: Path) -> None:
    quick.judge = True
    folder = write_loud_project(tmp_path, NOWHERE, HUNGRY["gepa"], words=MANY, metric=JUDGE)
    result = quick.run(folder, metric_calls=300, usd_by_role={"metric": 0.006})
    assert result.finish_reason == "budget_usd"
    assert result.metric_calls == scored(folder)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    model = ModelServer(answer)
    yield model
    model.close()


def test_real_workers_and_a_real_server_count_the_same(server: ModelServer, tmp_path: Path) -> None:
    drivers = Drivers(tmp_path)
    try:
        for number, budget in enumerate((25, 44)):
            server.requests.clear()
            folder = write_loud_project(
                tmp_path / str(number), server.url, HUNGRY["gepa"], budget=f"metric_calls = {budget}\nusd = 0.02"
            )
            ended = drivers.do("run", folder, "--json", "--yes")
            assert ended.status == 0, ended.err
            found = told(folder, server)
            assert found.scored.total() == ended.json["metric_calls"] <= budget
            assert server_usd(server) == pytest.approx(ended.json["cost_usd"], abs=1e-12)
            assert server_usd(server) <= 0.02
    finally:
        drivers.close()
