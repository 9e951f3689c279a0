"""A run that a provider's failure ended is asked anew where it failed, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa

from skynet.models.backend import ModelRequest, ProviderFault, RawReply
from skynet.runs import schema
from skynet.runs.asked_anew import ask_failures_anew
from skynet.runs.money import Refused
from skynet.runs.session import open_store
from tests.runs.cut_runs import HUNGRY, JUDGE, MANY, write_loud_project
from tests.runs.quick_runs import QuickModel, QuickRuns, scored
from tests.runs.test_budget_proof import NOWHERE

ENGINES = ("gepa", "best_of_n", "auto")


class Ill:
    """Has the provider refuse what a model is asked while it is ill."""

    def __init__(self, patch: pytest.MonkeyPatch, model: str) -> None:
        self.over = False
        well = QuickModel.complete

        def complete(provider: QuickModel, request: ModelRequest) -> RawReply:
            if request.model == model and not self.over:
                raise ProviderFault("the server is ill", "request", status=422)
            return well(provider, request)

        patch.setattr(QuickModel, "complete", complete)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_run_that_its_reflection_model_ended_goes_on_when_the_model_is_well_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, engine: str
) -> None:
    quick, ill = QuickRuns(monkeypatch), Ill(monkeypatch, "reflection")
    folder = write_loud_project(tmp_path, NOWHERE, HUNGRY[engine], words=MANY, budget="metric_calls = 120")
    failed = quick.run(folder)
    assert (failed.status, failed.finish_reason) == ("failed", "reflection_broken")
    ill.over = True
    paid = failed.metric_calls
    result = quick.resume(folder, failed.run)
    assert result.status in ("finished", "stopped")
    assert len(result.data["versions"]) > 1
    assert scored(folder) == result.metric_calls - paid  # nothing of the first attempt's is paid again


def test_a_run_whose_judge_was_ill_in_the_check_goes_on_and_keeps_its_count(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    quick, ill = QuickRuns(monkeypatch), Ill(monkeypatch, "metric")
    quick.judge = True
    budget = "metric_calls = 120"
    folder = write_loud_project(tmp_path, NOWHERE, HUNGRY["gepa"], words=MANY, metric=JUDGE, budget=budget)
    failed = quick.run(folder)
    assert failed.status == "failed"
    first, ill.over = scored(folder), True
    result = quick.resume(folder, failed.run)
    assert result.status in ("finished", "stopped"), result.message
    assert first + scored(folder) == result.metric_calls <= 120


def test_a_resume_that_is_refused_leaves_the_failures_where_they_are(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    quick = QuickRuns(monkeypatch)
    Ill(monkeypatch, "reflection")
    folder = write_loud_project(tmp_path, NOWHERE, HUNGRY["gepa"], words=MANY, budget="metric_calls = 120")
    failed = quick.run_as_written(folder)
    before = keys(folder)
    metric = folder / "metric.py"
    text = metric.read_text("utf-8")
    metric.write_text(text.replace("Right.", "Fine."), "utf-8")
    with pytest.raises(Refused, match="changed since it started"):
        quick.resume(folder, failed.run)
    assert keys(folder) == before
    metric.write_text(text, "utf-8")
    assert quick.resume(folder, failed.run).status == "failed"
    assert [key for key in keys(folder) if "-failed-" in key]


def test_what_was_set_aside_keeps_its_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    quick = QuickRuns(monkeypatch)
    Ill(monkeypatch, "reflection")
    folder = write_loud_project(tmp_path, NOWHERE, HUNGRY["gepa"], words=MANY, budget="metric_calls = 120")
    failed = quick.run_as_written(folder)
    with open_store(folder) as store:
        row = store.run(failed.run)
        assert ask_failures_anew(store, row) > 0
        aside = keys(folder)
        assert ask_failures_anew(store, row) == 0
    assert keys(folder) == aside


def keys(folder: Path) -> set[str]:
    with open_store(folder) as store, store.read() as connection:
        tables = (schema.model_calls, schema.evaluations)
        return {key for table in tables for key in connection.scalars(sa.select(table.c.key))}


def test_a_run_that_did_not_fail_is_told_its_failures_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    quick = QuickRuns(monkeypatch)
    folder = write_loud_project(tmp_path, NOWHERE, HUNGRY["gepa"], words=MANY)
    result = quick.run(folder, metric_calls=60)
    with open_store(folder) as store:
        row = store.run(result.run)
        assert ask_failures_anew(store, row) == 0
        with store.read() as connection:
            keys = connection.scalars(sa.select(schema.model_calls.c.key)).all()
    assert not [key for key in keys if "failed" in key]
