from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skynet.runs import schema
from skynet.runs.events import Events
from skynet.runs.fault import StoreError
from skynet.runs.journal import HELD_BYTES, InFlight, Journal
from skynet.runs.store import RunRow, Store
from tests.runs.processes import start

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=()))  # lone surrogates and NUL too
    | st.just("long" * HELD_BYTES),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


def ended(journal: Journal, key: str, body: dict[str, Any]) -> None:
    journal.begin("evaluation", key, {"metric_calls": 1})
    journal.end("evaluation", key, body)


def test_a_key_is_unknown_until_it_has_ended(store: Store, run: RunRow) -> None:
    journal = Journal(store, run)
    assert journal.get("evaluation", "a") is None
    journal.begin("evaluation", "a", {"metric_calls": 1})
    assert journal.get("evaluation", "a") is None
    journal.end("evaluation", "a", {"score": 0.5})
    assert journal.get("evaluation", "a") == {"score": 0.5}


def test_the_two_kinds_have_keys_of_their_own(store: Store, run: RunRow) -> None:
    journal = Journal(store, run)
    ended(journal, "a", {})
    assert journal.get("model", "a") is None
    journal.begin("model", "a", {})


def test_a_body_is_a_fresh_copy_each_time(store: Store, run: RunRow) -> None:
    journal = Journal(store, run)
    body: dict[str, Any] = {"scores": {"a": 1.0}}
    ended(journal, "a", body)
    body["scores"]["a"] = 2.0
    first = journal.get("evaluation", "a")
    assert first == {"scores": {"a": 1.0}}
    first["scores"]["a"] = 3.0
    assert journal.get("evaluation", "a") == {"scores": {"a": 1.0}}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50, deadline=None)
@given(key=st.text(st.characters(exclude_categories=["Cs"])), body=st.dictionaries(st.text(max_size=5), VALUES))
def test_a_body_comes_back_as_it_was_now_and_after_reopening(store: Store, key: str, body: dict[str, Any]) -> None:
    run, lock = store.start_run("a", {}, {})
    journal = Journal(store, run)
    ended(journal, key, body)
    assert journal.get("evaluation", key) == body
    assert Journal(store, run).get("evaluation", key) == body
    lock.release()


def test_columns_are_stored_even_from_text_that_utf8_cannot_hold(store: Store, run: RunRow) -> None:
    journal = Journal(store, run)
    journal.begin("evaluation", "a", {}, version="v", case_id="row \ud83d é", repetition=2, split="val")
    journal.end("evaluation", "a", {"x": 1}, status="ok", score=0.25, elapsed_ms=3.5, cost_usd=0.01)
    [row] = store.rows(run.id, schema.evaluations)
    assert row["case_id"] == "row \\ud83d é"
    assert (row["version"], row["repetition"], row["split"]) == ("v", 2, "val")
    assert (row["status"], row["score"], row["elapsed_ms"], row["cost_usd"]) == ("ok", 0.25, 3.5, 0.01)


def test_an_unknown_column_is_named_with_the_nearest(store: Store, run: RunRow) -> None:
    journal = Journal(store, run)
    with pytest.raises(ValueError, match=r"no column 'case'.*Did you mean 'case_id'"):
        journal.begin("evaluation", "a", {}, case="1")
    journal.begin("evaluation", "a", {})
    with pytest.raises(ValueError, match=r"no column 'scores'.*Did you mean 'score'"):
        journal.end("evaluation", "a", {}, scores=1.0)


def test_a_key_cannot_begin_twice(store: Store, run: RunRow) -> None:
    journal = Journal(store, run)
    journal.begin("model", "a", {})
    with pytest.raises(ValueError, match="the model 'a' was begun twice; the first one is under way"):
        journal.begin("model", "a", {})
    journal.end("model", "a", {})
    with pytest.raises(ValueError, match="the first one has ended"):
        journal.begin("model", "a", {})


def test_a_key_cannot_end_without_a_beginning(store: Store, run: RunRow) -> None:
    with pytest.raises(ValueError, match="not under way; begin it first"):
        Journal(store, run).end("model", "a", {})


def test_a_cancelled_request_leaves_nothing_and_may_begin_again(store: Store, run: RunRow) -> None:
    journal = Journal(store, run)
    journal.begin("model", "a", {"usd": 1.0})
    journal.cancel("model", "a")
    assert Journal(store, run).in_flight() == []
    journal.begin("model", "a", {"usd": 1.0})


def test_what_began_and_never_ended_is_in_flight_for_the_next_attempt(store: Store, run: RunRow) -> None:
    first = Journal(store, run)
    first.begin("model", "m", {"usd": 0.5})
    first.begin("evaluation", "e", {"metric_calls": 1})
    ended(first, "done", {})
    assert first.in_flight() == []
    left = Journal(store, run).in_flight()
    assert left == [InFlight("evaluation", "e", {"metric_calls": 1}), InFlight("model", "m", {"usd": 0.5})]


def test_a_request_in_flight_is_made_again_and_both_stay_charged(store: Store, run: RunRow) -> None:
    Journal(store, run).begin("model", "m", {"usd": 0.5})
    second = Journal(store, run)
    second.begin("model", "m", {"usd": 0.5})
    second.end("model", "m", {"text": "hi"})
    third = Journal(store, run)
    assert third.get("model", "m") == {"text": "hi"}
    assert third.in_flight() == [InFlight("model", "m", {"usd": 0.5})]


def test_entries_come_in_the_order_they_began_after_reopening(store: Store, run: RunRow) -> None:
    journal = Journal(store, run)
    for key in "bca":
        ended(journal, key, {"key": key})
    assert [key for key, _ in Journal(store, run).entries("evaluation")] == ["b", "c", "a"]


def test_what_is_committed_together_fails_together(store: Store, run: RunRow) -> None:
    journal, events = Journal(store, run), Events(store, run)
    good = events.write("evaluated", version="v")
    broken = type(good)(good.statement, good.row[:-1])
    journal.begin("evaluation", "a", {})
    with pytest.raises(StoreError):
        journal.end("evaluation", "a", {"x": 1}, also=[good, broken])
    assert journal.get("evaluation", "a") is None
    assert events.read() == []
    journal.end("evaluation", "a", {"x": 1}, also=[good])
    assert [event.version for event in events.read()] == ["v"]


def test_a_run_sees_nothing_of_another(store: Store, run: RunRow) -> None:
    other, lock = store.start_run("b", {}, {})
    ended(Journal(store, run), "a", {})
    assert Journal(store, other).get("evaluation", "a") is None
    lock.release()


def test_many_threads_store_each_key_once(store: Store, run: RunRow) -> None:
    journal = Journal(store, run)

    def work(thread: int) -> None:
        for number in range(20):
            ended(journal, f"{thread}-{number}", {"thread": thread, "number": number})

    threads = [threading.Thread(target=work, args=(n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wanted = {f"{t}-{n}": {"thread": t, "number": n} for t in range(16) for n in range(20)}
    assert dict(journal.entries("evaluation")) == wanted
    assert dict(Journal(store, run).entries("evaluation")) == wanted


ENDLESS = """
store = Store(path)
run, lock = store.start_run('a', {}, {})
journal = Journal(store, run)
def work(thread):
    number = 0
    while True:
        key = f'{thread}-{number}'
        journal.begin('evaluation', key, {'metric_calls': 1})
        os.write(1, f'begun {key}\\n'.encode())
        journal.end('evaluation', key, {'key': key, 'text': 'x' * 1000})
        os.write(1, f'ended {key}\\n'.encode())
        number += 1
for n in range(8):
    threading.Thread(target=work, args=(n,)).start()
"""


@pytest.mark.parametrize("lines", [1, 50, 700])
def test_all_that_a_killed_process_handed_out_is_there(path: Path, lines: int) -> None:
    process = start(ENDLESS, path)
    assert process.stdout is not None
    said = [process.stdout.readline() for _ in range(lines)]
    process.kill()
    said += process.stdout.read().splitlines()
    process.wait()
    said = [line.strip() for line in said]
    begun = {line.split()[1] for line in said if line.startswith("begun ")}
    done = {line.split()[1] for line in said if line.startswith("ended ")}
    with Store(path) as store:
        run = store.runs()[0]
        journal = Journal(store, run)
        found = dict(journal.entries("evaluation"))
        in_flight = {request.key for request in journal.in_flight()}
    assert run.status == "interrupted"
    assert done <= found.keys()
    assert begun <= found.keys() | in_flight
    assert len(in_flight) <= 8
    assert not in_flight & found.keys()
    assert all(body["key"] == key and len(body["text"]) == 1000 for key, body in found.items())


def test_requests_begun_together_are_all_in_flight_at_a_kill(store: Store, run: RunRow) -> None:
    begun = threading.Event()
    journal = Journal(store, run)
    journal.begin_all("evaluation", {"a": {"split": "val"}, "b": {}}, {"metric_calls": 1}, lambda error: begun.set())
    assert begun.wait(20)
    assert [request.key for request in Journal(store, run).in_flight()] == ["a", "b"]


def test_of_requests_begun_together_none_is_begun_when_one_cannot_be(store: Store, run: RunRow) -> None:
    journal = Journal(store, run)
    ended(journal, "b", {})
    with pytest.raises(ValueError, match="begun twice"):
        journal.begin_all("evaluation", {"a": {}, "b": {}}, {}, lambda error: None)
    ended(journal, "a", {})
    assert Journal(store, run).in_flight() == []


def test_a_result_that_nobody_waits_for_is_known_when_its_callback_is_called(store: Store, run: RunRow) -> None:
    journal, known, called = Journal(store, run), [], threading.Event()
    journal.begin("evaluation", "a", {})

    def then(error: BaseException | None) -> None:
        known.append((error, journal.get("evaluation", "a"), Journal(store, run).get("evaluation", "a")))
        called.set()

    journal.end("evaluation", "a", {"score": 0.5}, then=then)
    assert called.wait(20)
    assert known == [(None, {"score": 0.5}, {"score": 0.5})]
