from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from skynet.evaluation.guards import Stop
from skynet.models.calls import Reply, Scope, current_place
from skynet.models.faults import ProviderError
from skynet.models.gateway import Gateway
from skynet.models.ledger import Ledger
from skynet.models.retry import Cancelled, RetryPolicy
from skynet.runs import model_journal, schema
from skynet.runs.journal import Journal
from skynet.runs.model_journal import JournaledModels
from skynet.runs.store import RunRow, Store
from skynet.spec import ModelSpec, ModelsSpec, PriceSpec
from tests.loopback import Body, ModelServer, model_server, status

__all__ = ["model_server"]

Open = Callable[..., JournaledModels]
PRICE = PriceSpec(input=1.0, output=1.0)


@pytest.fixture
def attempt(store: Store, run: RunRow, model_server: ModelServer, tmp_path: Path) -> Iterator[Open]:
    """Open the models of the run as a new attempt of it would."""
    opened: list[JournaledModels] = []

    def make(reserve: Any = None, attempts: int = 1, concurrency: int = 32, **params: Any) -> JournaledModels:
        spec = ModelSpec(name="openai/m", base_url=model_server.url, params=params, price=PRICE)
        gateway = Gateway(
            ModelsSpec(task=spec, reflection=spec), tmp_path, ledger=Ledger(), environ={}, reserve=reserve,
            retry=RetryPolicy(attempts=attempts), concurrency=concurrency,
        )  # fmt: skip
        opened.append(JournaledModels(gateway, Journal(store, run)))
        return opened[-1]

    numbered = iter(range(1_000))
    model_server.reply = lambda body: f"{body['messages'][-1]['content']} {next(numbered)}"
    yield make
    for models in opened:
        models.close()


def ask(models: JournaledModels, text: str = "hello", place: str = "case 1", role: Any = "task", **more: Any) -> Reply:
    token = current_place.set(place)
    try:
        return models.complete(role, [{"role": "user", "content": text}], **more)
    finally:
        current_place.reset(token)


def test_a_paid_call_is_served_to_a_later_attempt_exactly(attempt: Open, model_server: ModelServer) -> None:
    first = ask(attempt())
    assert ask(attempt()) == first
    assert len(model_server.requests) == 1


def test_the_same_call_twice_in_one_place_is_two_calls(attempt: Open, model_server: ModelServer) -> None:
    models = attempt()
    one, two = ask(models), ask(models)
    assert one.text != two.text
    later = attempt()
    assert [ask(later), ask(later)] == [one, two]
    assert len(model_server.requests) == 2


def test_calls_of_two_places_never_swap_replies_whatever_the_order(attempt: Open) -> None:
    places = [f"case {number}" for number in range(16)]
    models = attempt()
    with ThreadPoolExecutor(8) as threads:
        first = dict(zip(places, threads.map(lambda place: ask(models, place=place).text, places), strict=True))
    later = attempt()
    with ThreadPoolExecutor(8) as threads:
        again = list(threads.map(lambda place: ask(later, place=place).text, places[::-1]))
    assert again == [first[place] for place in places[::-1]]
    assert len(set(again)) == 16


@pytest.mark.parametrize(
    "other",
    [{"text": "bye"}, {"place": "case 2"}, {"role": "reflection"}, {"temperature": 0.5}, {"max_tokens": 9},
     {"choices": ["a", "b"]}, {"schema": {"type": "object"}}],
)  # fmt: skip
def test_another_call_is_not_served_from_the_first(
    attempt: Open, model_server: ModelServer, other: dict[str, Any]
) -> None:
    ask(attempt())
    ask(attempt(), **other)
    assert len(model_server.requests) == 2


def test_other_parameters_of_the_model_make_another_call(attempt: Open, model_server: ModelServer) -> None:
    ask(attempt(seed=1))
    ask(attempt(seed=2))
    assert len(model_server.requests) == 2


def test_a_failed_call_is_told_again_and_not_asked_again(attempt: Open, model_server: ModelServer) -> None:
    model_server.fail(status(503, "asleep"))
    told = []
    for _ in range(2):
        with pytest.raises(ProviderError) as caught:
            ask(attempt())
        told.append((str(caught.value), caught.value.status, caught.value.attempts, caught.value.permanent))
    assert told[0] == told[1]
    assert len(model_server.requests) == 1


def test_a_wrong_key_is_asked_anew_by_the_next_attempt(attempt: Open, model_server: ModelServer) -> None:
    model_server.fail(status(401, "no such key"))
    with pytest.raises(ProviderError):
        ask(attempt())
    assert ask(attempt()).text == "hello 0"


def test_a_request_that_was_refused_for_what_it_holds_is_told_again(attempt: Open, model_server: ModelServer) -> None:
    model_server.fail(status(400, "too long"))
    for _ in range(2):
        with pytest.raises(ProviderError, match="too long"):
            ask(attempt())
    assert len(model_server.requests) == 1


def test_a_call_that_the_budget_refused_leaves_no_trace(attempt: Open, store: Store, run: RunRow) -> None:
    def refuse(request: Any) -> Any:
        raise Stop("budget_usd")

    with pytest.raises(Stop):
        ask(attempt(refuse))
    assert list(store.rows(run.id, schema.model_calls)) == []
    assert ask(attempt()).text == "hello 0"


def test_a_call_is_stored_as_begun_with_its_bound_before_it_is_sent(
    attempt: Open, store: Store, run: RunRow, model_server: ModelServer
) -> None:
    seen: list[dict[str, Any]] = []

    def look(body: Body) -> str:
        seen.extend(store.rows(run.id, schema.model_calls))
        return "hi"

    model_server.reply = look
    ask(attempt(), scope=Scope("7", "abc"), max_tokens=10)
    (row,) = seen
    assert (row["ended_at"], row["role"], row["model"], row["case_id"], row["version"], row["scope"]) == (
        None, "task", "openai/m", "7", "abc", "case 1",
    )  # fmt: skip
    (ended,) = store.rows(run.id, schema.model_calls)
    assert (ended["status"], ended["prompt_tokens"], ended["completion_tokens"]) == ("ok", 1, 1)


def test_the_counts_of_a_finished_place_begin_anew(attempt: Open, model_server: ModelServer) -> None:
    models = attempt()
    first = ask(models)
    models.forget("case 1")
    assert ask(models) == first
    assert len(model_server.requests) == 1


def test_text_that_no_request_can_carry_has_a_key(attempt: Open) -> None:
    models = attempt()
    assert models._key("task", [{"role": "user", "content": "bad \ud800"}], {})


def test_a_store_that_cannot_be_written_ends_the_run_and_is_not_blamed_on_the_provider(
    attempt: Open, store: Store, model_server: ModelServer
) -> None:
    models = attempt()
    store.path.unlink()
    with pytest.raises(Stop, match="was deleted or replaced") as caught:
        ask(models)
    assert caught.value.reason == "error"
    assert model_server.requests == []


def until(found: Callable[[], object]) -> None:
    deadline = time.monotonic() + 20
    while not found():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_the_end_stops_a_call_that_waits_to_try_again(
    attempt: Open, store: Store, run: RunRow, model_server: ModelServer
) -> None:
    models = attempt(attempts=3)
    model_server.fail(status(429, "slow down", retry_after="1"))
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(ask, models)
        until(lambda: model_server.requests)
        time.sleep(0.1)
        began = time.monotonic()
        assert models.settle(threading.Event()) == []
        assert time.monotonic() - began < 0.5
        with pytest.raises(Cancelled) as caught:
            asked.result()
    assert not caught.value.sent
    assert len(model_server.requests) == 1
    assert list(store.rows(run.id, schema.model_calls)) == []


def test_the_end_stops_a_call_that_waits_for_its_turn_and_books_the_one_that_was_sent(
    attempt: Open, store: Store, run: RunRow, model_server: ModelServer
) -> None:
    models = attempt(concurrency=1)
    model_server.latency = 0.5
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(ask, models, "first")
        until(lambda: model_server.requests)
        second = threads.submit(ask, models, "second")
        until(lambda: len(list(store.rows(run.id, schema.model_calls))) == 2)
        assert models.settle(threading.Event()) == []
        assert first.result().text == "first 0"
        with pytest.raises(Cancelled):
            second.result()
    assert len(model_server.requests) == 1
    assert [row["status"] for row in store.rows(run.id, schema.model_calls)] == ["ok"]


def test_a_call_that_does_not_come_back_by_the_end_stays_charged_and_is_told(
    attempt: Open, store: Store, run: RunRow, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_journal, "ATTEMPT_SECONDS", -0.8)  # with the second for booking: 0.2 s
    models, cancel = attempt(), threading.Event()
    model_server.latency = 2.0
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(ask, models, cancel=cancel)
        until(lambda: model_server.requests)
        (note,) = models.settle(cancel)
        with pytest.raises(Cancelled) as caught:
            asked.result()
    assert caught.value.sent
    assert "did not come back" in note
    (left,) = Journal(store, run).in_flight()
    assert left.reserved["usd"] > 0
