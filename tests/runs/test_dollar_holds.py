"""Dollars and tokens of start and sealed pass are kept from the search, also where only the check shows them."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skynet.engine import Models, SearchEvaluator, SearchTask
from skynet.evaluation.budget import Budget, BudgetSpent, Limits, Reservation
from skynet.runs import schema
from skynet.runs.case_costs import CaseCost
from skynet.runs.plan import Cost, Passes, refuse_small, set_aside, with_measured
from skynet.runs.result import RunResult
from skynet.runs.session import Given, open_store, resume_run, run_project
from skynet.spec import load_spec
from tests.loopback import ModelServer
from tests.runs.cut_runs import (
    CHAT,
    HUNGRY,
    JUDGE,
    MANY,
    WORDS,
    Drivers,
    answer,
    run_ids,
    server_usd,
    told,
    write_loud_project,
)
from tests.runs.quick_runs import QuickRuns, scored
from tests.runs.scripted import Scripted, put_forward, scripted

__all__ = ["scripted"]

NOWHERE = "http://127.0.0.1:1/v1"
ONCE = '{ name = "best_of_n", n = 1 }'
PYTHON = '[artifact]\npath = "start.txt"\n[target]\nkind = "python"\npath = "run.py"'
CODE = '[artifact]\nkind = "code"\npath = "start.py"\nentry = "loud"\n[target]\nkind = "code"'
ASK = "from skynet import llm\n\ndef run(artifact, input):\n    return llm(artifact, input['word'])\n"
POST = """
import json, os, urllib.request

def run(artifact, input):
    turns = [{"role": "system", "content": artifact}, {"role": "user", "content": input["word"]}]
    head = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"}
    body = json.dumps({"model": "task", "messages": turns}).encode()
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    with urllib.request.urlopen(urllib.request.Request(url, body, head)) as reply:
        return json.load(reply)["choices"][0]["message"]["content"]
"""
TARGETS: dict[str, dict[str, Any]] = {
    "llm": {"artifact": PYTHON, "source": {"start.txt": "Say it loud.\n", "run.py": ASK}},
    "endpoint": {"artifact": PYTHON, "source": {"start.txt": "Say it loud.\n", "run.py": POST}},
    "code": {
        "artifact": CODE,
        "source": {"start.py": "from skynet import llm\n\ndef loud(input):\n    return llm('Say', input['word'])\n"},
    },
}
UNWRITTEN: dict[str, dict[str, Any]] = {
    "chat": {"artifact": '[target]\nkind = "chat"', "source": {}},
    "python": {"artifact": '[target]\nkind = "python"\npath = "run.py"', "source": {"run.py": ASK}},
}


@pytest.fixture(scope="module")
def shared() -> Iterator[ModelServer]:
    model = ModelServer(answer)
    yield model
    model.close()


@pytest.fixture
def server(shared: ModelServer) -> ModelServer:
    shared.reply = answer
    shared.requests.clear()
    return shared


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> QuickRuns:
    return QuickRuns(monkeypatch)


def named(result: RunResult, kind: str) -> float:
    """Return the smallest budget that a refused run names."""
    assert (result.status, result.finish_reason) == ("failed", "budget_too_small"), result.message
    found = re.search(rf"\b{re.escape(kind)} = ([\d.]+)", result.message)
    assert found is not None, result.message
    return float(found[1])


def limit(kind: str, amount: float) -> dict[str, Any]:
    """Return one limit as `[budget]` has it."""
    if kind.startswith("usd_by_role."):
        return {"metric_calls": 400, "usd_by_role": {kind.removeprefix("usd_by_role."): amount}}
    return {"metric_calls": 400, kind: amount if kind == "usd" else int(amount)}


def drive(folder: Path, **budget: Any) -> RunResult:
    return run_project(load_spec(folder, {"budget": budget}), Given(accept=True, accept_code=True))


def tokens(server: ModelServer) -> int:
    return sum(server.completion(request.body)["usage"]["total_tokens"] for request in server.requests)


def sealed_cases(result: RunResult) -> int:
    """Return how many test cases the verdict stands on."""
    return sum(row["split"] == "test" and row["start"]["score"] is not None for row in result.data["cases"])


@pytest.mark.parametrize(
    ("target", "kind", "small"),
    [("llm", "usd", 0.0008), ("endpoint", "usd", 0.0008), ("code", "usd", 0.0008), ("llm", "tokens", 400)],
)
def test_a_budget_that_the_check_shows_to_be_too_small_ends_there_and_the_one_it_names_does(
    server: ModelServer, tmp_path: Path, target: str, kind: str, small: float
) -> None:
    folder = write_loud_project(tmp_path, server.url, ONCE, **TARGETS[target])
    refused = drive(folder, **limit(kind, small))
    assert len(server.requests) == 3  # the check's
    spent = f"${server_usd(server):.7f} and {tokens(server)} tokens"
    assert f"The check spent {refused.metric_calls} metric calls, {spent}." in refused.message
    assert "twice the dearest" in refused.message

    smallest = named(refused, kind)
    less = smallest * 0.97 if kind == "usd" else smallest - 1
    assert named(drive(folder, **limit(kind, less)), kind) == smallest

    server.requests.clear()
    result = drive(folder, **limit(kind, smallest))
    assert result.status in ("finished", "stopped"), result.message
    assert sealed_cases(result) == len(WORDS)
    assert (server_usd(server) if kind == "usd" else tokens(server)) <= smallest


@pytest.mark.parametrize(
    ("kind", "small"), [("usd", 0.01), ("tokens", 4_800), ("usd_by_role.metric", 0.001)], ids=lambda value: str(value)
)
def test_a_judge_is_held_as_it_was_measured_beside_a_chat_that_is_known(
    quick: QuickRuns, tmp_path: Path, kind: str, small: float
) -> None:
    quick.judge = True
    folder = write_loud_project(tmp_path, NOWHERE, HUNGRY["gepa"], words=MANY, metric=JUDGE)
    refused = quick.run(folder, **limit(kind, small))
    assert 3 <= scored(folder) == refused.metric_calls <= 7
    smallest = named(refused, kind)
    result = quick.run(folder, **limit(kind, smallest))
    assert result.status in ("finished", "stopped"), result.message
    assert sealed_cases(result) == len(MANY)
    bill = {"usd": quick.model.total, "usd_by_role.metric": quick.model.usd["metric"]}
    assert bill.get(kind, 0.0) <= smallest


def test_a_cap_of_the_task_model_that_a_chat_is_known_to_exceed_is_refused_before_anything_is_spent(
    quick: QuickRuns, tmp_path: Path
) -> None:
    folder = write_loud_project(tmp_path, NOWHERE, HUNGRY["gepa"], words=MANY)
    refused = quick.run(folder, metric_calls=300, usd_by_role={"task": 0.001})
    assert refused.message.endswith("Nothing was spent.")
    assert quick.model.requests == scored(folder) == 0
    smallest = named(refused, "usd_by_role.task")
    result = quick.run(folder, metric_calls=300, usd_by_role={"task": smallest})
    assert sealed_cases(result) == len(MANY)
    assert quick.model.usd["task"] <= smallest


@pytest.mark.parametrize(("kind", "small"), [("usd", 0.005), ("tokens", 5000), ("usd_by_role.task", 0.005)])
@pytest.mark.parametrize("share", [1.0, 1.6])
def test_a_search_that_spends_all_it_may_leaves_the_sealed_pass_whole(
    quick: QuickRuns, tmp_path: Path, scripted: type[Scripted], kind: str, small: float, share: float
) -> None:
    def script(task: SearchTask, evaluator: SearchEvaluator, models: Models) -> None:
        put_forward(task, evaluator, *(f"{start} {number}" for number in range(100)))

    start = "Say it loud." + " a" * 300  # the calls' bounds are not far above what they cost
    scripted.script = script
    source = {"start.txt": start, "run.py": ASK}
    folder = write_loud_project(
        tmp_path, NOWHERE, '{ name = "scripted" }', words=MANY, artifact=PYTHON, source=source, max_tokens=4
    )
    amount = named(quick.run(folder, **limit(kind, small)), kind) * share
    result = quick.run(folder, **limit(kind, amount))
    assert (result.status, result.finish_reason) == ("stopped", "budget_tokens" if kind == "tokens" else "budget_usd")
    assert sealed_cases(result) == len(MANY)
    if kind != "tokens":
        assert quick.model.total <= amount


@pytest.mark.parametrize(
    ("target", "kind", "small"),
    [("chat", "usd", 0.005), ("chat", "tokens", 5000), ("chat", "usd_by_role.task", 0.005), ("python", "usd", 0.005)],
)
def test_a_limit_that_is_raised_after_a_verdict_pays_for_the_verdict_on_a_new_best(
    quick: QuickRuns, tmp_path: Path, scripted: type[Scripted], target: str, kind: str, small: float
) -> None:
    start = "Say it loud." + " a" * 300

    def script(task: SearchTask, evaluator: SearchEvaluator, models: Models) -> None:
        texts = (" ".join((start, *MANY[2 : 2 + number])) for number in range(1, 9))  # each better than the last
        put_forward(task, evaluator, *texts, *(f"{start} {number}" for number in range(100)))

    scripted.script = script
    artifact = PYTHON if target == "python" else CHAT
    source = {"start.txt": start, "run.py": ASK}

    def write(amount: float) -> Path:
        held = kind.partition(".")
        value = f"{{ {held[2]} = {amount} }}" if held[2] else str(amount)
        return write_loud_project(
            tmp_path, NOWHERE, '{ name = "scripted" }', words=MANY, artifact=artifact, source=source, max_tokens=4,
            budget=f"metric_calls = 400\n{held[0]} = {value}",
        )  # fmt: skip

    smallest = named(quick.run(write(small), **limit(kind, small)), kind)
    first = quick.run_as_written(write(smallest if kind != "tokens" else int(smallest)))
    more = smallest * 2 if kind != "tokens" else int(smallest * 2)
    result = quick.resume(write(more), first.run)
    assert (first.status, result.status) == ("stopped", "stopped")
    assert first.best["version"] != result.best["version"]
    assert sealed_cases(first) == sealed_cases(result) == len(MANY)
    assert result.best["test"] is not None
    assert result.data["difference"] is not None


def test_a_check_that_cannot_be_paid_is_a_budget_that_is_too_small(quick: QuickRuns, tmp_path: Path) -> None:
    folder = write_loud_project(tmp_path, NOWHERE, ONCE, words=MANY, **TARGETS["llm"])
    refused = quick.run(folder, usd=0.0001)
    assert refused.finish_reason == "budget_too_small"
    assert "the contract check could not be paid to its end" in refused.message
    assert quick.model.requests == 0
    second = quick.run(folder, usd=0.00023)  # one call's bound and a little
    assert 0 < quick.model.requests < 3
    assert second.message.startswith("the budget is too small for a run: the contract check could not be paid")
    assert named(second, "usd") > 0.001


@pytest.mark.parametrize("target", UNWRITTEN)
def test_without_a_start_version_the_passes_are_held_for_the_one_that_was_written(
    quick: QuickRuns, tmp_path: Path, target: str
) -> None:
    folder = write_loud_project(tmp_path, NOWHERE, HUNGRY["gepa"], words=MANY, **UNWRITTEN[target])
    refused = quick.run(folder, usd=0.0015)
    smallest = named(refused, "usd")
    calls = Counter({"chat": 0, "python": 3})[target]  # the first val cases of the start, where the check had none
    assert scored(folder) == 4 + calls
    assert ("first 3 val cases" in refused.message) == (target == "python")
    assert quick.model.requests == 1 + calls
    result = quick.run(folder, usd=smallest)
    assert result.status in ("finished", "stopped"), result.message
    assert sealed_cases(result) == len(MANY)
    assert quick.model.total <= smallest


def test_a_refused_run_is_refused_again_until_it_is_given_more(server: ModelServer, tmp_path: Path) -> None:
    folder = write_loud_project(tmp_path, server.url, ONCE, budget="usd = 0.0008", **TARGETS["llm"])
    refused = run_project(load_spec(folder), Given(accept=True))
    smallest = named(refused, "usd")
    server.requests.clear()
    assert resume_run(folder, refused.run).message == refused.message
    assert not server.requests
    result = resume_run(folder, refused.run, add_budget={"usd": smallest - 0.0008})
    assert sealed_cases(result) == len(WORDS)
    assert result.cost_usd is not None
    assert result.cost_usd <= smallest


@pytest.mark.parametrize(
    ("more", "usd", "commits"),
    [({}, 0.0048, (6, 45)), ({"metric": JUDGE}, 0.03, (20, 70))],
    ids=["stopped by its dollars", "with a judge and enough"],
)
def test_a_killed_run_with_dollars_ends_as_one_that_was_left_alone(
    drivers: Drivers, server: ModelServer, tmp_path: Path, more: dict[str, Any], usd: float, commits: Sequence[int]
) -> None:
    budget = f"usd = {usd}"

    def write(name: str) -> Path:
        server.requests.clear()
        return write_loud_project(tmp_path / name, server.url, HUNGRY["gepa"], budget=budget, **TARGETS["llm"], **more)

    folder = write("whole")
    ended = drivers.do("run", folder)
    assert ended.status == 0, ended.err
    whole = told(folder, server)
    held = _held(folder)
    for commit in commits:
        folder = write(str(commit))
        drivers.do("run", folder, kill=(commit, "after"))
        (run,) = run_ids(folder)
        ended = drivers.do("runs", "resume", run, folder, "--json")
        assert ended.status == 0, ended.err
        assert sealed_cases(resume_run(folder, run)) == len(WORDS)
        assert ended.json["cost_usd"] <= server_usd(server) + 1e-12 <= usd
        found = told(folder, server)
        assert _held(folder) == held
        if not ended.json["finish_reason"].startswith("budget_"):
            assert found.essence == whole.essence


def _held(folder: Path) -> list[str]:
    """Return what was held; how much was left at a stop is another matter, since what was in flight stays charged."""
    with open_store(folder, create=False) as store:
        (row,) = store.runs()
        told = [json.loads(event["reason"]) for event in store.rows(row.id, schema.events) if event["kind"] == "budget"]
    return [reason for reason in told if reason.startswith("held for")]


def asks_often(request: Mapping[str, Any]) -> str:
    """Answer as the models do; the next text is right everywhere, and costs forty times as much."""
    if request["model"] == "reflection":
        return f"```\nSay it loud. again {' '.join(WORDS)}\n```"
    return answer(request)


def test_a_dear_version_is_compared_on_the_first_test_cases_that_can_be_paid(
    server: ModelServer, tmp_path: Path
) -> None:
    often = "from skynet import llm\n\ndef run(artifact, input):\n    calls = 40 if 'again' in artifact else 1\n" \
            "    return [llm(artifact, input['word']) for _ in range(calls)][-1]\n"  # fmt: skip
    server.reply = asks_often
    source = {"start.txt": "Say it loud.\n", "run.py": often}
    folder = write_loud_project(
        tmp_path, server.url, ONCE, artifact=PYTHON, source=source, max_tokens=4, budget="usd = 0.0056"
    )
    result = run_project(load_spec(folder), Given(accept=True))
    assert result.status in ("finished", "stopped"), result.message
    count = sealed_cases(result)
    assert 0 < count < len(WORDS)
    said = f"The budget paid for {count} of {len(WORDS)} test cases: the first ones in seeded order."
    assert said in result.data["warnings"]
    with open_store(folder, create=False) as store:
        rows = [row for row in store.rows(result.run, schema.evaluations) if row["split"] == "test"]
    ran = Counter(row["version"] for row in rows if row["ended_at"] is not None)
    assert max(ran.values()) <= count + 1  # the case that did not fit any more, and none beyond it
    assert server_usd(server) <= 0.0056
    assert result.difference is not None


PRICES = st.integers(0, 30).map(lambda cents: cents / 100)


@settings(max_examples=150, deadline=None)
@given(
    case=PRICES, bound=PRICES, evaluations=st.tuples(st.integers(1, 12), st.integers(1, 12)), at_once=st.integers(1, 6),
    more=PRICES, cap=st.booleans(), seed=st.integers(0, 2**16),
)  # fmt: skip
def test_whatever_the_search_spends_the_held_passes_can_be_paid(
    case: float, bound: float, evaluations: tuple[int, int], at_once: int, more: float, cap: bool, seed: int
) -> None:
    costs = {"task": CaseCost(case, round(case * 100), max(case, bound), round(max(case, bound) * 100))}
    passes = with_measured(Passes(Cost(), Cost(evaluations[0]), Cost(evaluations[1])), costs, at_once)
    smallest = passes.total.amounts
    usd = smallest.usd + more
    caps = {"task": usd} if cap else {}
    limits = Limits(smallest.metric_calls + 3, usd, smallest.tokens + round(more * 100), None, caps)
    refuse_small(limits, passes, "")
    budget, draws = Budget(limits), random.Random(seed)
    set_aside(budget, passes)

    def search() -> None:
        for _ in range(40):
            try:
                usd, calls = draws.randint(0, 50) / 100, draws.randint(0, 1)
                budget.reserve(calls, usd, round(usd * 100), "task").settle(calls, usd, round(usd * 100))
            except BudgetSpent:
                continue

    for name, count in zip(("start", "sealed"), evaluations, strict=True):
        purse, under_way = budget.draw(name), list[Reservation]()
        for _ in range(count):  # one call each, as many at a time as may be
            if len(under_way) == at_once:
                under_way.pop(0).settle(1, case, round(case * 100))
            one = costs["task"]
            under_way.append(purse.reserve(1, one.call_usd, one.call_tokens, "task"))
            search()
        for reservation in under_way:
            reservation.settle(1, case, round(case * 100))
        budget.drop(name)
        search()
    assert round(budget.spent.usd * 1e9) <= round(usd * 1e9)
