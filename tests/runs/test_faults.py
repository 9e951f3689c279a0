"""A provider that misbehaves: the run finishes, no fault is scored, the books equal the provider's; or it stops."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from skynet.models.gateway import Gateway
from skynet.models.retry import RetryPolicy
from skynet.runs import schema, session
from skynet.runs.session import Given, open_store, resume_run, run_project
from skynet.spec import load_spec
from tests import loopback
from tests.loopback import Body, Fault, ModelServer
from tests.runs.cut_runs import HUNGRY, JUDGE, METRIC, PRICES, answer, write_loud_project

TRANSIENT = (
    loopback.status(429),
    loopback.status(429, retry_after="0.01"),
    loopback.status(500),
    loopback.CUT_BODY,
    loopback.MALFORMED,
    loopback.WRONG_TYPE,
    loopback.EMPTY_CHOICE,
    replace(loopback.SLOW_DRIP, seconds=0.002),
    loopback.CLOSED_SOCKET,
)
SHARE = 0.3  # of the requests fail
ANSWERED = "slow_drip"  # the one fault that ends in a reply, late


class FaultyServer(ModelServer):
    """Fails a share of the requests, and keeps the bill of those that it answered whole."""

    def __init__(self) -> None:
        self._random = random.Random(11)
        self.pico: Counter[str] = Counter()  # dollars by model, in millionths
        self.met: Counter[str] = Counter()
        super().__init__(answer)
        self.trouble = self._meet

    def _meet(self, body: Body) -> Fault | None:
        fault = self._random.choice(TRANSIENT) if self._random.random() < SHARE else None
        if fault is not None:
            self.met[fault.kind] += 1
        if fault is None or fault.kind == ANSWERED:
            usage = self.completion(body)["usage"]
            read, written = PRICES[body["model"]]
            self.pico[body["model"]] += usage["prompt_tokens"] * int(read) + usage["completion_tokens"] * int(written)
        return fault

    @property
    def usd(self) -> dict[str, float]:
        return {model: pico / 1e6 for model, pico in self.pico.items()}


@pytest.fixture
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Have runs try again without waiting, `attempts` times."""

    def use(attempts: int) -> None:
        policy = RetryPolicy(attempts=attempts, first_wait=0.001, longest_wait=0.01)
        monkeypatch.setattr(session, "Gateway", partial(Gateway, retry=policy))

    return use


@pytest.fixture
def faulty() -> Iterator[FaultyServer]:
    model = FaultyServer()
    yield model
    model.close()


def evaluations(folder: Path) -> list[dict[str, Any]]:
    with open_store(folder, create=False) as store:
        return [row for run in store.runs() for row in store.rows(run.id, schema.evaluations)]


@pytest.mark.parametrize("engine", ["gepa", "demos", "best_of_n"])
def test_a_run_finishes_while_three_requests_in_ten_fail(
    faulty: FaultyServer, quick_retries: Callable[[int], None], tmp_path: Path, engine: str
) -> None:
    quick_retries(9)
    metric = JUDGE if engine == "gepa" else METRIC
    folder = write_loud_project(tmp_path, faulty.url, HUNGRY[engine], metric=metric)
    result = run_project(load_spec(folder, {"budget": {"metric_calls": 70}}), Given(accept=True))
    assert result.status in ("finished", "stopped"), result.message
    assert result.best["test"] is not None
    assert faulty.met.total() > 10, "hardly a fault was met"
    assert result.cost_usd == pytest.approx(sum(faulty.usd.values()), abs=1e-9)
    by_role = {entry["role"]: entry["usd"] for entry in result.data["ledger"]}
    assert by_role == {role: pytest.approx(usd, abs=1e-9) for role, usd in faulty.usd.items()}


def test_what_still_fails_after_the_retries_is_never_scored_and_told_again_in_a_replay(
    faulty: FaultyServer, quick_retries: Callable[[int], None], tmp_path: Path
) -> None:
    quick_retries(2)  # so that about one call in ten fails for good
    folder = write_loud_project(tmp_path, faulty.url, HUNGRY["gepa"], budget="metric_calls = 120")
    result = run_project(load_spec(folder), Given(accept=True))
    assert result.status in ("finished", "stopped"), result.message
    rows = evaluations(folder)
    failed = [row for row in rows if row["failure"] == "provider"]
    assert failed, "no call failed for good"
    assert all(row["score"] is None for row in failed)
    assert not any(json.loads(row["body"]).get("score") for row in failed)
    scored = sum(row["failure"] is None for row in rows)
    assert scored == len((folder / "calls.log").read_text("utf-8").split()) == result.metric_calls
    assert result.cost_usd == pytest.approx(sum(faulty.usd.values()), abs=1e-9)

    with open_store(folder, create=False) as store:
        store.update_run(result.run, status="running", finish_reason=None, result=None)  # as if it had been killed
    sent = len(faulty.requests)
    again = resume_run(folder, result.run)
    assert len(faulty.requests) == sent
    assert [item["id"] for item in again.data["versions"]] == [item["id"] for item in result.data["versions"]]
    assert [item["val"] for item in again.data["versions"]] == [item["val"] for item in result.data["versions"]]
    assert (again.best, again.difference, again.finish_reason) == (result.best, result.difference, result.finish_reason)


REFUSALS = [
    ("task", loopback.status(401, "this key is not known")),
    ("task", loopback.status(429, "you exceeded your quota", error_code="insufficient_quota")),
    ("reflection", loopback.status(404, "no such model here")),
    ("metric", loopback.status(402, "your account is empty")),
]


class FailingLater(ModelServer):
    """Answers like any other until the model `role` was asked `good` times; from then on that model meets `fault`."""

    def __init__(self, role: str, good: int, fault: Fault) -> None:
        self.role, self.good, self.fault = role, good, fault
        self.refused = 0
        super().__init__(answer)
        self.trouble = self._meet

    def _meet(self, body: Body) -> Fault | None:
        if body["model"] != self.role or self.good > 0:
            self.good -= body["model"] == self.role
            return None
        self.refused += 1
        return self.fault


@pytest.mark.parametrize(("role", "fault"), REFUSALS)
def test_a_permanent_fault_stops_the_run_at_once_with_the_providers_words(
    tmp_path: Path, role: str, fault: Fault
) -> None:
    server = FailingLater(role, 0 if role == "reflection" else 15, fault)
    try:
        folder = write_loud_project(tmp_path, server.url, HUNGRY["gepa"], metric=JUDGE)
        result = run_project(load_spec(folder), Given(accept=True))
        assert (result.status, result.finish_reason) == ("failed", "provider")
        assert fault.words in result.message
        assert server.refused <= 4, "it went on asking"  # those that were sent side by side
        server.good = 10**6
        mended = resume_run(folder, result.run)
        assert mended.status == "finished" or mended.finish_reason == "budget_metric_calls", mended.message
    finally:
        server.close()


@pytest.mark.parametrize("role", ["task", "metric"])
def test_a_provider_that_is_down_at_the_check_ends_the_run_as_such_and_a_resume_asks_it_anew(
    quick_retries: Callable[[int], None], tmp_path: Path, role: str
) -> None:
    quick_retries(2)
    server = FailingLater(role, 0, loopback.status(503, "down for an hour"))
    try:
        folder = write_loud_project(tmp_path, server.url, HUNGRY["gepa"], budget="metric_calls = 120", metric=JUDGE)
        result = run_project(load_spec(folder), Given(accept=True))
        assert (result.status, result.finish_reason) == ("failed", "provider")
        assert "down for an hour" in result.message
        server.good = 10**6
        mended = resume_run(folder, result.run)
        assert mended.status in ("finished", "stopped"), mended.message
        assert mended.metric_calls <= 120
    finally:
        server.close()


def test_a_judge_that_keeps_failing_stops_the_run_instead_of_burning_the_budget(
    quick_retries: Callable[[int], None], tmp_path: Path
) -> None:
    quick_retries(2)
    server = FailingLater("metric", 15, loopback.status(500, "the judge is ill"))
    try:
        folder = write_loud_project(tmp_path, server.url, HUNGRY["gepa"], budget="metric_calls = 300", metric=JUDGE)
        result = run_project(load_spec(folder), Given(accept=True))
        assert (result.status, result.finish_reason) == ("failed", "provider")
        assert "the judge is ill" in result.message
        assert result.metric_calls < 60
    finally:
        server.close()
