from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from skynet.artifact import Artifact
from skynet.data.case import Case
from skynet.models.gateway import Gateway
from skynet.target.base import TargetResult, Ticket
from skynet.target.python import PythonTarget
from skynet.target.worker_calls import holds_keys
from skynet.workers.limits import worker_environment
from skynet.workers.pool import WorkerPool
from skynet.workers.process import WorkerSetup
from tests.loopback import ModelServer, status
from tests.target.conftest import MakeGateway

RUN = """
import os, random, threading, time
from skynet import llm

def run(artifact, input):
    names = dict(globals(), artifact=artifact, input=input)
    exec(input["code"], names)
    return names["out"]
"""
TEXT = Artifact("text", "the text")
Run = Callable[..., TargetResult]


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerPool]:
    path = tmp_path_factory.mktemp("target") / "run.py"
    path.write_text(RUN)
    environment = worker_environment({**os.environ, "OPENAI_API_KEY": "secret", "MY_MODE": "fast"}, ["MY_MODE"])
    config: dict[str, object] = {"path": str(path), "folder": str(path.parent)}
    setup = WorkerSetup("skynet.evaluation.child:python_target", path.parent, config, (), environment)
    with WorkerPool(setup, size=2) as workers:
        yield workers


@pytest.fixture
def run(pool: WorkerPool, make_gateway: MakeGateway) -> Run:
    def call(code: str, timeout: float = 20, seed: int = 0, gateway: Gateway | None = None) -> TargetResult:
        ticket = Ticket(Case("7", {"code": code}, None, "", 7), "v1", seed=seed)
        return PythonTarget(pool, gateway or make_gateway(), timeout).run(TEXT, ticket)

    return call


def kind(result: TargetResult) -> str:
    assert result.fault is not None
    return result.fault.kind


def test_a_run_without_a_model_call_costs_nothing(run: Run) -> None:
    result = run("print('hi')\nout = [artifact, 1.5]")
    assert (result.output, result.fault, result.stdout) == (["the text", 1.5], None, "hi\n")
    assert (result.cost_usd, result.model_calls) == (0.0, 0)
    assert result.elapsed_ms is not None


def test_model_calls_are_counted_and_priced(run: Run, model_server: ModelServer) -> None:
    result = run("out = llm('a b') + llm('c')")
    assert (result.output, result.cost_usd, result.model_calls) == ("okok", 7.0, 2)
    assert (result.prompt_tokens, result.completion_tokens) == (3, 2)


def test_an_unpriced_model_makes_the_cost_unknown(run: Run, make_gateway: MakeGateway) -> None:
    assert run("out = llm('a')", gateway=make_gateway({"price": None})).cost_usd is None


@pytest.mark.parametrize(
    ("passed", "unknown"), [((), False), (("MY_MODE",), False), (("MY_API_KEY",), True), (("hf_token",), True)]
)
def test_a_target_with_keys_of_its_own_has_no_known_cost(
    pool: WorkerPool, make_gateway: MakeGateway, passed: tuple[str, ...], unknown: bool
) -> None:
    ticket = Ticket(Case("7", {"code": "out = 1"}, None, "", 7), "v1")
    result = PythonTarget(pool, make_gateway(), 10, passed).run(TEXT, ticket)
    assert (result.cost_usd is None) is unknown
    assert holds_keys(passed) is unknown


def test_the_run_sees_passed_variables_and_no_key(run: Run) -> None:
    environment = run("out = dict(os.environ)").output
    assert environment["MY_MODE"] == "fast"
    assert [name for name in environment if "KEY" in name or "TOKEN" in name] == []


def test_the_same_seed_gives_the_same_random_numbers(run: Run) -> None:
    code = "out = [random.random() for _ in range(3)]"
    first, again, other = run(code, seed=5).output, run(code, seed=5).output, run(code, seed=6).output
    assert first == again
    assert first != other


@pytest.mark.parametrize(
    ("code", "fault"),
    [
        ("1 / 0", "raised"),
        ("os._exit(1)", "died"),
        ("import time; time.sleep(60)", "timeout"),
        ("out = threading.Lock()", "bad_output"),
    ],
)
def test_every_failure_of_the_users_has_its_kind_and_no_output(run: Run, code: str, fault: str) -> None:
    result = run(code, timeout=0.5)
    assert (kind(result), result.output) == (fault, None)


def test_a_provider_failure_wins_over_what_the_code_made_of_it(run: Run, model_server: ModelServer) -> None:
    model_server.fail(status(400, "refused"))
    result = run("try:\n    llm('x')\nexcept Exception:\n    raise ValueError('mine')")
    assert (kind(result), result.output) == ("provider", None)
    assert "refused" in str(result.fault)


def test_a_timeout_while_the_provider_answers_is_the_providers(run: Run, model_server: ModelServer) -> None:
    model_server.latency = 3.0
    assert kind(run("out = llm('x')", timeout=0.3)) == "provider"


def test_the_wait_after_a_failed_try_counts_neither_as_time_nor_against_the_timeout(
    run: Run, model_server: ModelServer
) -> None:
    model_server.fail(status(500), status(500))
    began = time.perf_counter()
    result = run("out = llm('x')", timeout=0.7)
    wall = (time.perf_counter() - began) * 1000
    assert result.output == "ok"
    assert wall > 700  # more than the timeout
    assert result.elapsed_ms is not None
    assert result.elapsed_ms < wall / 2


def test_the_wait_in_the_models_queue_is_not_the_runs(
    pool: WorkerPool, make_gateway: MakeGateway, model_server: ModelServer
) -> None:
    model_server.latency = 0.4
    target = PythonTarget(pool, make_gateway(concurrency=1), 20)
    ticket = Ticket(Case("7", {"code": "out = llm('x')"}, None, "", 7), "v1")
    began = time.perf_counter()
    with ThreadPoolExecutor(2) as threads:
        results = list(threads.map(lambda _: target.run(TEXT, ticket), range(2)))
    wall = (time.perf_counter() - began) * 1000
    assert model_server.most_busy == 1
    for result in results:
        assert result.elapsed_ms is not None
        assert result.elapsed_ms < wall * 0.75


def test_a_file_that_does_not_load_has_neither_output_nor_time(tmp_path: Path, make_gateway: MakeGateway) -> None:
    path = tmp_path / "run.py"
    path.write_text("1 / 0")
    config: dict[str, object] = {"path": str(path), "folder": str(tmp_path)}
    setup = WorkerSetup("skynet.evaluation.child:python_target", tmp_path, config, (), worker_environment(os.environ))
    with WorkerPool(setup) as pool:
        target = PythonTarget(pool, make_gateway(), 10)
        loaded = target.load()
        ran = target.run(TEXT, Ticket(Case("7", {}, None, "", 7), "v1"))
    assert loaded is not None
    assert (kind(loaded), kind(ran), ran.elapsed_ms) == ("raised", "raised", None)
    assert "ZeroDivisionError" in str(ran.fault)


def test_a_cancelled_run_ends_at_once(pool: WorkerPool, make_gateway: MakeGateway) -> None:
    cancel = threading.Event()
    threading.Timer(0.2, cancel.set).start()
    ticket = Ticket(Case("7", {"code": "time.sleep(60)"}, None, "", 7), "v1", cancel=cancel)
    assert kind(PythonTarget(pool, make_gateway(), 50).run(TEXT, ticket)) == "cancelled"
