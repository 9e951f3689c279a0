"""The dollars that an http target's replies report are paid from the run's budget like those of a model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from skynet.artifact import Artifact
from skynet.data.case import Case
from skynet.evaluation.amounts import Amounts
from skynet.evaluation.budget import Budget, Limits
from skynet.evaluation.guards import Stop
from skynet.models.calls import current_place
from skynet.models.ledger import Ledger
from skynet.runs.billed_target import BilledTarget
from skynet.runs.books import RunBooks
from skynet.runs.history import history_of
from skynet.runs.result import RunResult
from skynet.runs.session import Given, resume_run, run_project
from skynet.runs.store import Store
from skynet.spec import load_spec
from skynet.target.base import TargetResult, Ticket
from skynet.workers.fault import Fault
from tests.loopback import Body, ModelServer
from tests.runs.cut_runs import HUNGRY, write_loud_project
from tests.runs.cut_runs import answer as loud_answer

AGENT = """[artifact]
path = "start.txt"
[target]
kind = "http"
url = "{url}/chat/completions"
answer = "choices.0.message.content"
{cost}
[target.body]
model = "task"
[[target.body.messages]]
role = "system"
content = "{{{{ artifact }}}}"
[[target.body.messages]]
role = "user"
content = "{{{{ input.word }}}}"
"""
COST = 'cost = "usage.total_tokens"'  # a dollar for each token
ARTIFACT = Artifact("text", "Say it.")
CASE = Case("7", {}, None, "", 0)


class Agent(ModelServer):
    """A deployed agent and a reflection model in one; `usd` is what the agent bills."""

    def __init__(self) -> None:
        self.usd = 0
        super().__init__(loud_answer)

    def completion(self, body: Body) -> Body:
        made = super().completion(body)
        if body["model"] == "task":
            self.usd += made["usage"]["total_tokens"]
        return made


@pytest.fixture
def agent() -> Iterator[Agent]:
    server = Agent()
    yield server
    server.close()


def project(folder: Path, agent: Agent, budget: str, cost: str = COST) -> Path:
    artifact = AGENT.format(url=agent.url, cost=cost)
    return write_loud_project(folder, agent.url, HUNGRY["gepa"], budget=budget, artifact=artifact)


def target_usd(result: RunResult) -> float | None:
    (line,) = [line for line in result.data["ledger"] if line["role"] == "target"]
    assert line["model"] == "http"
    usd: float | None = line["usd"]
    return usd


def test_the_dollars_that_replies_report_are_in_the_books(agent: Agent, tmp_path: Path) -> None:
    result = run_project(load_spec(project(tmp_path, agent, "metric_calls = 60")))
    assert result.status in ("finished", "stopped"), result.message
    models = sum(line["usd"] for line in result.data["ledger"] if line["role"] != "target")
    assert target_usd(result) == agent.usd
    assert result.cost_usd == pytest.approx(agent.usd + models)
    assert result.data["budget"]["usd"]["lower_bound"] is False


def test_a_dollar_budget_ends_the_run_before_the_agent_has_billed_more(agent: Agent, tmp_path: Path) -> None:
    result = run_project(load_spec(project(tmp_path, agent, "usd = 400")))
    assert (result.status, result.finish_reason) == ("stopped", "budget_usd"), result.message
    assert result.best["test"] is not None
    assert target_usd(result) == agent.usd
    assert 300 < agent.usd <= 400


def test_a_dollar_budget_that_cannot_pay_the_passes_is_refused_after_the_check(agent: Agent, tmp_path: Path) -> None:
    result = run_project(load_spec(project(tmp_path, agent, "usd = 60")))
    assert result.finish_reason == "budget_too_small"
    assert "the smallest that would do is usd = " in result.message
    assert agent.usd <= 60


def test_a_resume_counts_what_earlier_attempts_paid(agent: Agent, tmp_path: Path) -> None:
    folder = project(tmp_path, agent, "usd = 400")
    first = run_project(load_spec(folder))
    assert first.finish_reason == "budget_usd"
    again = resume_run(folder, first.run, add_budget={"usd": 200})
    assert again.metric_calls > first.metric_calls
    assert target_usd(again) == agent.usd <= 600


def test_replies_that_report_nothing_make_the_dollars_a_lower_bound(agent: Agent, tmp_path: Path) -> None:
    result = run_project(load_spec(project(tmp_path, agent, "metric_calls = 40\nusd = 1", cost="")), Given(accept=True))
    assert result.status in ("finished", "stopped"), result.message
    assert (target_usd(result), result.cost_usd) == (None, None)
    assert "What the target spends itself is not in the dollars" in " ".join(result.data["notes"])


class Scripted:
    """A target that returns, or raises, what it is told, in turn."""

    def __init__(self, *told: TargetResult | BaseException) -> None:
        self._told = list(told)

    def load(self) -> TargetResult | None:
        return None

    def run(self, artifact: Artifact, ticket: Ticket) -> TargetResult:
        told = self._told.pop(0)
        if isinstance(told, BaseException):
            raise told
        return told

    def clock_floor_ms(self) -> float | None:
        return None

    def close(self) -> None: ...


def paid(usd: float | None, elapsed_ms: float | None = 1.0, fault: Fault | None = None) -> TargetResult:
    return TargetResult("out", fault, elapsed_ms, usd)


class Bench:
    """A billed target on a real journal; `run` runs it as the next evaluation."""

    def __init__(
        self, store: Store, run: Any, budget: Budget, *told: TargetResult | BaseException, reports: bool = True
    ) -> None:
        self.store, self.row, self.budget = store, run, budget
        self.books, self.ledger = RunBooks(store, run), Ledger()
        self.target = BilledTarget(Scripted(*told), "http", budget, self.books.journal, self.ledger, reports=reports)
        self._number = 0

    def run(self) -> TargetResult:
        self._number += 1
        current_place.set(f"evaluation {self._number}")
        return self.target.run(ARTIFACT, Ticket(CASE, ARTIFACT.id))

    def later(self) -> Amounts:
        """What the next attempt finds charged."""
        return history_of(self.store, self.row, RunBooks(self.store, self.row)).charged


def test_the_dearest_so_far_is_set_aside_and_ends_the_run_when_it_does_not_fit(store: Store, run: Any) -> None:
    bench = Bench(store, run, Budget(Limits(usd=1.0)), paid(0.2), paid(0.4), paid(0.1), paid(0.1))
    for _ in range(3):
        bench.run()
    with pytest.raises(Stop) as stop:  # 0.7 is spent, and the dearest was 0.4
        bench.run()
    assert stop.value.reason == "budget_usd"
    assert bench.budget.spent.usd == pytest.approx(0.7)
    assert bench.later().usd == pytest.approx(0.7)


@pytest.mark.parametrize("struck", [Stop("cancelled"), KeyboardInterrupt()])
def test_a_run_under_way_at_a_stop_stays_charged_at_what_was_set_aside(
    store: Store, run: Any, struck: BaseException
) -> None:
    bench = Bench(store, run, Budget(Limits(usd=1.0)), paid(0.3), struck)
    bench.run()
    with pytest.raises(type(struck)):
        bench.run()
    assert bench.budget.spent.usd == pytest.approx(0.6)
    assert bench.later().usd == pytest.approx(0.6)


def test_a_target_that_did_not_run_costs_nothing(store: Store, run: Any) -> None:
    bench = Bench(store, run, Budget(Limits(usd=1.0)), paid(None, None, Fault("raised", "no such placeholder")))
    bench.run()
    assert (bench.budget.spent.usd, bench.budget.usd_is_lower_bound, bench.ledger.entries()) == (0.0, False, ())
    assert bench.later() == Amounts()


@pytest.mark.parametrize(
    "unknown",
    [
        paid(None, 5.0, Fault("raised", "HTTP 500")),
        paid(None, 5.0, Fault("timeout", "no whole reply")),
        paid(None),
    ],
    ids=["status", "timeout", "no cost"],
)
def test_a_run_without_a_report_stays_charged_as_reserved_and_the_dollars_are_a_lower_bound(
    store: Store, run: Any, unknown: TargetResult
) -> None:
    bench = Bench(store, run, Budget(Limits(usd=1.0)), paid(0.3), unknown)
    bench.run()
    assert not bench.budget.usd_is_lower_bound
    bench.run()
    assert bench.budget.usd_is_lower_bound
    assert [entry.cost_usd for entry in bench.ledger.entries()] == [0.3, None]
    assert bench.budget.spent.usd == pytest.approx(0.6)
    assert bench.later().usd == pytest.approx(0.6)
    history = history_of(store, bench.row, RunBooks(store, bench.row))
    assert history.by_role["target"] == pytest.approx(0.6)
    assert history.entries[-1].cost_usd is None


def test_a_run_stopped_before_its_request_was_sent_costs_nothing(store: Store, run: Any) -> None:
    unsent = paid(0, None, Fault("cancelled", "stopped"))
    bench = Bench(store, run, Budget(Limits(usd=1.0)), paid(0.3), unsent)
    bench.run()
    bench.run()
    assert bench.budget.spent.usd == bench.later().usd == pytest.approx(0.3)


def test_a_target_of_unknown_price_that_did_not_run_leaves_the_dollars_exact(store: Store, run: Any) -> None:
    nothing_ran = paid(None, None, Fault("raised", "no such placeholder"))
    bench = Bench(store, run, Budget(Limits(usd=1.0)), nothing_ran, paid(None), reports=False)
    bench.run()
    assert not bench.budget.usd_is_lower_bound
    bench.run()
    assert bench.budget.usd_is_lower_bound
