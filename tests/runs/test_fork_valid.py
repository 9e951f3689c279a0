"""What a fork takes over: results of its own scope on cases it still has, all of them or none, and what it says."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa

from skynet.data.dataset import load_dataset
from skynet.models.backend import ModelRequest, RawReply
from skynet.runs import schema
from skynet.runs.fault import StoreError
from skynet.runs.rescore import rescore_run
from skynet.runs.session import Given, Hooks, open_store, run_project
from skynet.spec import load_spec
from tests.runs.cut_runs import ENGINES, JUDGE, WORDS, write_loud_project
from tests.runs.quick_runs import QuickModel, QuickRuns, scored
from tests.runs.test_fork import NOWHERE, SEALED, change


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> QuickRuns:
    return QuickRuns(monkeypatch)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_loud_project(tmp_path, NOWHERE, ENGINES["gepa"])


def taken_over(folder: Path, run: str, table: sa.Table = schema.evaluations) -> int:
    with open_store(folder, create=False) as store:
        return sum("forked" in row["reserved"] for row in store.rows(run, table))


def without_metric_model(folder: Path) -> None:
    text = (folder / "skynet.toml").read_text("utf-8").splitlines()
    (folder / "skynet.toml").write_text("\n".join(line for line in text if not line.startswith("metric = {")))


def test_another_reflection_model_costs_no_result_where_the_metric_asks_none(quick: QuickRuns, folder: Path) -> None:
    without_metric_model(folder)
    first = quick.run(folder, metric_calls=150)
    change(folder, "skynet.toml", 'name = "reflection"', 'name = "metric"')
    quick.run(folder, fork=first.run, metric_calls=150)
    assert scored(folder) <= first.metric_calls - 2 * len(WORDS)  # at least the start's val pass was taken over


def test_another_reflection_model_is_another_judge_where_the_metric_asks_it(quick: QuickRuns, tmp_path: Path) -> None:
    folder = write_loud_project(tmp_path, NOWHERE, ENGINES["gepa"], metric=JUDGE)
    without_metric_model(folder)
    quick.judge = True
    first = quick.run(folder, metric_calls=150)
    change(folder, "skynet.toml", 'name = "reflection"', 'name = "metric"')
    forked = quick.run(folder, fork=first.run, metric_calls=150)
    assert scored(folder) == forked.metric_calls > SEALED
    assert taken_over(folder, forked.run) == 0


def test_more_repetitions_pay_for_the_new_ones_only(quick: QuickRuns, folder: Path) -> None:
    change(folder, "skynet.toml", "max_proposals = 4", "max_proposals = 1")
    first = quick.run(folder, metric_calls=150)
    change(folder, "skynet.toml", "concurrency = 4", "concurrency = 4\nrepeats = 2")
    forked = quick.run(folder, fork=first.run, metric_calls=300)
    alone = quick.run(folder, metric_calls=300)
    assert taken_over(folder, forked.run) > 0
    assert forked.metric_calls <= alone.metric_calls - len(WORDS)


def test_a_result_that_is_not_valid_any_more_is_not_copied_and_not_rescored(
    quick: QuickRuns, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = quick.run(folder, metric_calls=150)
    task = "output = 3.0 }, params = { max_tokens = "
    change(folder, "skynet.toml", f"{task}40", f"{task}39")
    well = QuickModel.complete

    def changed(model: QuickModel, request: ModelRequest) -> RawReply:
        reply = well(model, request)
        return RawReply("changed", 1, 1) if request.model == "task" else reply

    monkeypatch.setattr(QuickModel, "complete", changed)
    forked = quick.run(folder, fork=first.run, metric_calls=150)
    assert taken_over(folder, forked.run) == 0
    assert taken_over(folder, forked.run, schema.model_calls) > 0, "what the engine asked is still valid"
    job = rescore_run(folder, forked.run, versions=("start",), splits=("val",)).job
    assert {item.output for item in job.metrics[0].items} == {"changed"}


def rows_of_their_own(folder: Path) -> None:
    """Give each split words of its own, which the loud project's do not have."""
    rows = [f"{word}{split},{(word + split).upper()},{split}" for split in ("train", "val", "test") for word in WORDS]
    (folder / "words.csv").write_text("\n".join(["word,loud,split", *rows]) + "\n", encoding="utf-8")


@pytest.mark.parametrize("becomes", ["echoval,ECHO,val", "echoval,ECHOVAL,test"])
def test_a_row_that_left_train_and_val_takes_its_result_with_it(quick: QuickRuns, folder: Path, becomes: str) -> None:
    rows_of_their_own(folder)
    first = quick.run(folder, metric_calls=150)
    before = contents(folder)
    change(folder, "words.csv", "echoval,ECHOVAL,val", becomes)
    forked = quick.run(folder, fork=first.run, metric_calls=150)
    still = contents(folder)
    with open_store(folder, create=False) as store:
        copied = {row["case_hash"] for row in store.rows(forked.run, schema.evaluations) if "forked" in row["reserved"]}
    assert len(before - still) == 1
    assert copied == before & still


def contents(folder: Path) -> set[str]:
    spec = load_spec(folder)
    assert spec.data is not None
    data = load_dataset(spec.data, folder)
    return {case.content_hash for case in (*data.train, *data.val)}


def test_a_fork_says_how_many_results_it_took_over(quick: QuickRuns, folder: Path) -> None:
    first = quick.run(folder, metric_calls=150)
    told: list[str] = []
    quick.clear(folder)
    spec = load_spec(folder, {"budget": {"metric_calls": 150}})
    forked = run_project(spec, Given(accept=True, fork=first.run), Hooks(on_notice=told.append))
    count = taken_over(folder, forked.run)
    assert count == first.metric_calls - SEALED
    assert told == [f"Forked from {first.run}: {count} results taken over."]
    assert told[0] in forked.data["notes"]
    assert told[0].rstrip(".") in (folder / ".skynet" / "runs" / f"{forked.run}.log").read_text("utf-8")


def test_a_run_whose_copy_fails_is_not_stored(quick: QuickRuns, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = quick.run(folder, metric_calls=150)

    def broken(*_: object) -> None:
        raise sa.exc.OperationalError("insert", {}, Exception("the disk is full"))

    monkeypatch.setattr("skynet.runs.fork._copy", broken)
    with pytest.raises(StoreError):
        quick.run(folder, fork=first.run, metric_calls=150)
    with open_store(folder, create=False) as store:
        assert [row.id for row in store.runs()] == [first.run]
        assert not [path for path in (store.folder / "runs").glob("*.lock") if path.stem != first.run]
