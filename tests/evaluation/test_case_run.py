from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from skynet.artifact import Artifact
from skynet.data.case import Case
from skynet.engine import RunStop
from skynet.evaluation.case_run import CaseRunner, metric_call_counts, seed_of, ticket_for
from skynet.evaluation.guards import Stop
from skynet.evaluation.project import Project
from skynet.evaluation.record import Record
from skynet.evaluation.source_files import SourceChanged
from skynet.models.calls import ReserveRequest
from skynet.models.gateway import Gateway, Settle
from skynet.models.ledger import Ledger
from skynet.models.retry import RetryPolicy
from skynet.spec import ModelSpec, ModelsSpec, load_spec
from tests.loopback import ModelServer, status
from tests.projects import write_project

METRIC = """
import random, time
from skynet import llm, observation, unmeasured

def score(input, output, expected=None):
    print("scoring")
    seen = observation()
    names = dict(globals(), output=output, seen=seen)
    exec(input["score"], names)
    return names["out"]
"""
RUN = """
import random, threading, time
from skynet import llm

def run(artifact, input):
    print("running")
    names = dict(globals(), artifact=artifact)
    exec(input["run"], names)
    return names["out"]
"""
TEXT = Artifact("text", "the artifact")
GOOD = "out = 1.0, {'feedback': 'OK'}"
QUICK = RetryPolicy(attempts=2, first_wait=0.01, longest_wait=0.02)


def case(run: str = "out = artifact", score: str = GOOD, name: str = "c1") -> Case:
    return Case(name, {"run": run, "score": score}, None, "", 1)


class Purse:
    """Lets calls pass until it is told to stop."""

    def __init__(self) -> None:
        self.stop: BaseException | None = None

    def reserve(self, request: ReserveRequest) -> Settle:
        if self.stop is not None:
            raise self.stop
        return lambda entry: None


@pytest.fixture(scope="module")
def purse() -> Purse:
    return Purse()


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    server = ModelServer()
    yield server
    server.close()


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory, server: ModelServer, purse: Purse) -> Iterator[CaseRunner]:
    folder = write_project(tmp_path_factory.mktemp("project"), METRIC, RUN)
    small = ModelSpec(name="openai/small", base_url=server.url)
    gateway = Gateway(
        ModelsSpec(task=small, metric=small), folder, ledger=Ledger(), environ={}, reserve=purse.reserve, retry=QUICK
    )
    with Project(load_spec(folder), models=gateway, workers=2) as project:
        yield project.runner


def test_a_run_and_its_score_are_one_record(runner: CaseRunner) -> None:
    record = runner.run(TEXT, case(score="out = 0.5, {'feedback': 'fine', 'scores': {'a': 1}, 'note': 'kept'}"))
    assert (record.status, record.failure, record.fault) == ("ok", None, None)
    assert (record.version, record.case, record.repetition) == (TEXT.id, "c1", 0)
    assert (record.output, record.score, record.feedback) == ("the artifact", 0.5, "fine")
    assert (record.scores, record.side_info, record.stdout) == ({"a": 1.0}, {"note": "kept"}, "running\nscoring\n")
    assert record.metric_called
    assert (record.cost_usd, record.model_calls) == (0.0, 0)


def test_the_metric_observes_what_the_record_says(runner: CaseRunner) -> None:
    record = runner.run(TEXT, case(score="out = seen.elapsed_ms, {'feedback': str(seen.cost_usd)}"))
    assert record.elapsed_ms is not None
    assert record.elapsed_ms > 0
    assert (record.score, record.feedback) == (record.elapsed_ms, "0.0")


@pytest.mark.parametrize(
    ("run", "kind", "words"),
    [
        ("raise ValueError('boo')", "raised", "ValueError: boo"),
        ("raise SystemExit(3)", "raised", "SystemExit: 3"),
        ("import os; os._exit(3)", "died", "exit status 3"),
        ("out = {1}", "bad_output", "type set"),
    ],
)
def test_a_failing_target_is_the_versions_and_the_metric_is_not_called(
    runner: CaseRunner, run: str, kind: str, words: str
) -> None:
    record = runner.run(TEXT, case(run))
    assert (record.status, record.failure, record.metric_called) == ("failed", "target", False)
    assert record.fault is not None
    assert record.fault.kind == kind
    assert words in record.feedback
    assert (record.score, record.output) == (None, None)
    assert runner.run(TEXT, case()).status == "ok"


@pytest.mark.parametrize(
    ("score", "kind"),
    [("raise ValueError('boo')", "raised"), ("import os; os._exit(3)", "died"), ("out = 1", "bad_return")],
)
def test_a_failing_metric_gives_no_score_and_keeps_the_output(runner: CaseRunner, score: str, kind: str) -> None:
    record = runner.run(TEXT, case(score=score))
    assert (record.status, record.failure, record.score) == ("failed", "metric", None)
    assert record.fault is not None
    assert record.fault.kind == kind
    assert (record.output, record.metric_called) == ("the artifact", True)


def test_an_unmeasured_case_is_neither_scored_nor_failed(runner: CaseRunner) -> None:
    record = runner.run(TEXT, case(score="out = unmeasured('no reference')"))
    assert (record.status, record.failure, record.score) == ("unmeasured", None, None)
    assert record.feedback == "no reference"


CAUGHT = "try:\n    llm('x')\nexcept Exception:\n    pass\n"


def test_a_failed_llm_that_run_caught_is_a_provider_failure(runner: CaseRunner, server: ModelServer) -> None:
    server.fail(status(400, "no such model"))
    record = runner.run(TEXT, case(f"{CAUGHT}out = 'made up'"))
    assert (record.status, record.failure, record.output) == ("failed", "provider", None)
    assert "no such model" in record.feedback
    assert not record.metric_called


def test_a_failed_llm_that_score_caught_discards_the_score(runner: CaseRunner, server: ModelServer) -> None:
    server.fail(status(400, "no such model"))
    record = runner.run(TEXT, case(score=f"{CAUGHT}{GOOD}"))
    assert (record.status, record.failure, record.score) == ("failed", "provider", None)
    assert record.fault is not None
    assert "no such model" in record.fault.message


SWALLOWED = "try:\n    llm('x')\nexcept BaseException:\n    pass\n"


@pytest.mark.parametrize(
    "side", [{"run": f"{SWALLOWED}out = 1"}, {"score": f"{SWALLOWED}{GOOD}"}], ids=["run", "score"]
)
def test_a_stop_inside_llm_cannot_be_swallowed(runner: CaseRunner, purse: Purse, side: dict[str, str]) -> None:
    purse.stop = Stop("budget_usd")
    try:
        with pytest.raises(RunStop) as stopped:
            runner.run(TEXT, case(**side))
    finally:
        purse.stop = None
    assert stopped.value is not None
    assert runner.run(TEXT, case()).status == "ok"


def test_a_cancelled_run_stops(runner: CaseRunner) -> None:
    cancel = threading.Event()
    threading.Timer(0.2, cancel.set).start()
    with pytest.raises(Stop) as stopped:
        runner.run(TEXT, case("time.sleep(60)"), cancel=cancel)
    assert stopped.value.reason == "cancelled"


def test_models_are_charged_to_target_and_metric_apart(runner: CaseRunner, server: ModelServer) -> None:
    server.reply = "one two three"
    record = runner.run(TEXT, case("out = llm('a b')", "out = 1, {'feedback': llm('c d e f')}"))
    server.reply = "ok"
    assert (record.output, record.feedback) == ("one two three", "one two three")
    assert (record.model_calls, record.prompt_tokens, record.completion_tokens) == (1, 2, 3)


def random_of(record: Record) -> Any:
    return record.output, record.score


RANDOM = case("out = random.random()", "out = random.random(), {'feedback': 'OK'}")


def test_a_repetition_has_its_own_random_numbers_and_the_same_ones_again(runner: CaseRunner) -> None:
    first, second = (random_of(runner.run(TEXT, RANDOM, repetition)) for repetition in (0, 1))
    assert first != second
    assert random_of(runner.run(TEXT, RANDOM, 0)) == first


def test_versions_are_compared_under_the_same_random_numbers(runner: CaseRunner) -> None:
    assert random_of(runner.run(Artifact("text", "other"), RANDOM)) == random_of(runner.run(TEXT, RANDOM))


def test_a_seed_depends_on_run_case_and_repetition() -> None:
    tickets = [
        ticket_for(seed, "v", case(name=name), repetition)
        for seed in (0, 1)
        for name in ("a", "b")
        for repetition in (0, 1)
    ]
    assert len({ticket.seed for ticket in tickets}) == 8
    assert 0 <= seed_of("\ud800", 0) < 2**32


@pytest.mark.parametrize(
    ("error", "counts"),
    [
        (Stop("cancelled"), False),
        (Stop("cancelled", scoring=True), True),
        (SourceChanged("error", "metric.py changed"), False),
        (KeyboardInterrupt(), True),
    ],
    ids=["before score()", "inside score()", "another source", "Ctrl-C"],
)
def test_a_metric_call_that_a_stop_ended_counts_where_score_was_executed(error: BaseException, counts: bool) -> None:
    assert metric_call_counts(error) == counts
