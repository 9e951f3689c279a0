from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skynet.artifact import Artifact
from skynet.runs import schema
from skynet.runs.events import Events
from skynet.runs.journal import Journal
from skynet.runs.lock import RunDriven
from skynet.runs.store import RunNotFound, RunRow, Store, new_run_id
from skynet.runs.versions import Versions


def fill(store: Store, run: RunRow) -> None:
    journal = Journal(store, run)
    journal.begin("evaluation", "e", {"metric_calls": 1}, version="v", case_id="1", case_hash="h1", split="test")
    journal.end("evaluation", "e", {"score": 1.0}, status="ok", score=1.0)
    journal.begin("model", "m", {"usd": 0.1}, role="task")
    Versions(store, run).add(Artifact("text", "hello"), None, "")
    Events(store, run).append("state", reason="started")


def test_a_started_run_is_running_and_keeps_spec_and_fingerprint(store: Store, run: RunRow) -> None:
    found = store.run(run.id)
    assert (found.status, found.name) == ("running", "tickets")
    assert (found.spec, found.fingerprint, found.state) == ({"name": "tickets"}, {"data": "abc"}, {})
    assert (found.finish_reason, found.ended_at, found.result) == (None, None, None)


def test_a_running_run_without_a_driver_is_shown_as_interrupted(store: Store) -> None:
    row, lock = store.start_run("a", {}, {})
    assert store.run(row.id).status == "running"
    lock.release()
    assert store.run(row.id).status == "interrupted"
    assert store.runs()[0].status == "interrupted"


def test_a_finished_run_keeps_its_status_without_a_driver(store: Store) -> None:
    row, lock = store.start_run("a", {}, {})
    store.update_run(row.id, status="finished", finish_reason="perfect", ended_at=5.0, result={"changed": True})
    lock.release()
    found = store.run(row.id)
    assert (found.status, found.finish_reason, found.ended_at) == ("finished", "perfect", 5.0)
    assert found.result == {"changed": True}


def test_runs_are_listed_newest_first(store: Store) -> None:
    ids = [store.start_run(str(number), {}, {})[0].id for number in range(5)]
    assert [run.id for run in store.runs()] == ids[::-1]


def test_a_run_is_found_by_the_beginning_of_its_id(store: Store, run: RunRow) -> None:
    assert store.run(run.id[:12]).id == run.id


def test_an_ambiguous_beginning_names_the_runs(store: Store, run: RunRow) -> None:
    other, _ = store.start_run("b", {}, {})
    with pytest.raises(RunNotFound, match=f"2 runs begin with '20'.*{run.id}.*{other.id}"):
        store.run("20")


@pytest.mark.parametrize("driven", [True, False])
def test_an_id_that_is_taken_is_not_given_again(store: Store, monkeypatch: pytest.MonkeyPatch, driven: bool) -> None:
    first, lock = store.start_run("a", {}, {})
    if not driven:
        lock.release()
    ids = iter([first.id, "20261130-other1"])
    monkeypatch.setattr("skynet.runs.store.new_run_id", lambda at: next(ids))
    assert store.start_run("b", {}, {})[0].id == "20261130-other1"
    assert store.run(first.id).name == "a"


@pytest.mark.parametrize("wanted", ["%", "_", "", "nothing"])
def test_an_unknown_run_is_an_error_that_says_what_there_is(store: Store, run: RunRow, wanted: str) -> None:
    with pytest.raises(RunNotFound, match="It holds 1 run; see `skynet runs list`"):
        store.run(wanted)


def test_a_misspelt_run_is_answered_with_the_nearest(store: Store, run: RunRow) -> None:
    with pytest.raises(RunNotFound, match=f"Did you mean '{run.id}'"):
        store.update_run(run.id + "x", status="failed")


def test_only_known_columns_of_a_run_can_change(store: Store, run: RunRow) -> None:
    with pytest.raises(ValueError, match="Did you mean 'status'"):
        store.update_run(run.id, statsu="failed")


def test_deleting_a_run_removes_all_its_rows_and_no_others(store: Store) -> None:
    (gone, gone_lock), (kept, _kept_lock) = store.start_run("a", {}, {}), store.start_run("b", {}, {})
    fill(store, gone)
    fill(store, kept)
    gone_lock.release()
    for row in (gone, kept):
        (store.folder / "runs" / f"{row.id}.log").write_text("what happened")
    store.delete_run(gone.id)
    assert [run.id for run in store.runs()] == [kept.id]
    for table in schema.OF_A_RUN:
        with store.read() as connection:
            assert {row.run for row in connection.execute(table.select())} == {kept.number}
    assert {file.name for file in (store.folder / "runs").iterdir()} == {f"{kept.id}.lock", f"{kept.id}.log"}


def test_a_driven_run_cannot_be_deleted(store: Store, run: RunRow) -> None:
    with pytest.raises(RunDriven):
        store.delete_run(run.id)
    assert store.run(run.id).status == "running"


def test_a_deleted_runs_number_is_not_given_again(store: Store) -> None:
    row, lock = store.start_run("a", {}, {})
    lock.release()
    store.delete_run(row.id)
    assert store.start_run("b", {}, {})[0].number > row.number


def test_test_cases_are_counted_once_for_each_run_that_scored_one(store: Store) -> None:
    for _ in range(3):
        fill(store, store.start_run("a", {}, {})[0])
    assert store.times_tested(["h1", "h2"]) == 3
    assert store.times_tested(["h2"]) == 0
    assert store.times_tested([]) == 0


def test_only_ended_evaluations_of_the_test_split_count_as_tested(store: Store, run: RunRow) -> None:
    journal = Journal(store, run)
    journal.begin("evaluation", "a", {}, case_hash="h", split="val")
    journal.end("evaluation", "a", {})
    journal.begin("evaluation", "b", {}, case_hash="h", split="test")
    assert store.times_tested(["h"]) == 0


def test_rows_are_read_in_the_order_they_began(store: Store, run: RunRow) -> None:
    journal = Journal(store, run)
    for key in "cab":
        journal.begin("model", key, {})
    assert [row["key"] for row in store.rows(run.id, schema.model_calls)] == ["c", "a", "b"]


@given(st.floats(0, 4e9), st.floats(0.2, 1e6))
def test_run_ids_sort_by_time(at: float, later: float) -> None:
    assert new_run_id(at) < new_run_id(at + later)


def test_a_run_id_is_the_utc_date_and_six_digits() -> None:
    found = new_run_id(time.time())
    assert re.fullmatch(r"\d{8}-[0-9a-z]{6}", found)
    assert found.startswith(time.strftime("%Y%m%d", time.gmtime()))
