from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from skynet.evaluation.worker_setup import METRIC_ENTRY, PYTHON_ENTRY, Source, worker_setup
from skynet.spec import LimitsSpec
from skynet.workers.clock import CallClock
from skynet.workers.fault import Fault
from skynet.workers.pool import WorkerPool
from skynet.workers.worker import Outcome

METRIC = """
import datetime, decimal, fractions, os, random, sys, threading
import numpy
import skynet
from skynet import llm, observation, service_cost, unmeasured

class Hostile:
    def __repr__(self):
        raise RuntimeError

def score(input, output, expected=None, trace=None):
    names = dict(globals(), input=input, output=output, expected=expected, trace=trace)
    exec(input["code"], names)
    return names["out"]
"""
RUN = """
import os, sys, threading
from skynet import llm

def run(artifact, input):
    names = dict(globals(), artifact=artifact)
    exec(input["code"], names)
    return names["out"]
"""
GOOD = "{'feedback': 'OK'}"
Score = Callable[..., Outcome]


def pool_of(entry: str, source: Source, folder: Path = Path("/"), **limits: Any) -> WorkerPool:
    return WorkerPool(worker_setup(entry, source, folder, LimitsSpec(**limits), {**os.environ, "MY_KEY": "secret"}, ()))


@pytest.fixture(scope="module")
def metric_pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerPool]:
    path = tmp_path_factory.mktemp("metric") / "metric.py"
    path.write_text(METRIC)
    with pool_of(METRIC_ENTRY, path, feedback=1000) as pool:
        yield pool


@pytest.fixture(scope="module")
def target_pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerPool]:
    path = tmp_path_factory.mktemp("target") / "run.py"
    path.write_text(RUN)
    with pool_of(PYTHON_ENTRY, path) as pool:
        yield pool


@pytest.fixture
def score(metric_pool: WorkerPool) -> Score:
    def call(code: str, output: Any = None, observation: Any = None, trace: Any = None, ask: Any = None) -> Outcome:
        payload = {"input": {"code": code}, "output": output, "expected": {"label": "x"}, "trace": trace}
        return metric_pool.call({**payload, "observation": observation}, timeout=20, ask=ask)

    return call


@pytest.fixture
def run(target_pool: WorkerPool) -> Score:
    def call(code: str, artifact: Any = "text", ask: Any = None) -> Outcome:
        return target_pool.call({"artifact": artifact, "input": {"code": code}}, timeout=20, ask=ask)

    return call


def fault(outcome: Outcome) -> Fault:
    assert outcome.fault is not None
    return outcome.fault


@pytest.mark.parametrize(
    ("number", "value"),
    [
        ("0.8", 0.8),
        ("True", 1.0),
        ("10**15", 1e15),
        ("decimal.Decimal('0.25')", 0.25),
        ("fractions.Fraction(1, 4)", 0.25),
        ("numpy.float32(0.5)", 0.5),
        ("numpy.array(2)", 2.0),
    ],
)
def test_every_kind_of_number_crosses_as_a_float(score: Score, number: str, value: float) -> None:
    outcome = score(f"out = {number}, {GOOD}")
    assert (outcome.kind, outcome.value["score"], type(outcome.value["score"])) == ("ok", value, float)


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        ("0.8", "There is no side info"),
        ("(0.8, 'Close.')", "The side info is not a dict"),
        ("(0.8, {})", "There is no feedback string"),
        (f"('0.8', {GOOD})", "The score is a string"),
        ("(0.8, {'feedback': 'OK', 'scores': {'a': 'high'}})", "A named score is not a number"),
        (f"(1j, {GOOD})", "The score is a complex number"),
        (f"(float('nan'), {GOOD})", "The score is NaN"),
        (f"(float('inf'), {GOOD})", "The score is infinite"),
        (f"(10**400, {GOOD})", "too large for a float"),
        ("(x for x in ())", "returned a generator"),
        ("None", "returned None"),
    ],
)
def test_a_wrong_return_is_told_with_the_line_of_score(score: Score, returned: str, words: str) -> None:
    outcome = score(f"out = {returned}")
    assert (outcome.kind, fault(outcome).line) == ("bad_return", METRIC[: METRIC.index("def score")].count("\n") + 1)
    assert words in fault(outcome).message
    assert str(fault(outcome).file).endswith("metric.py")


def test_a_returned_coroutine_is_told(score: Score) -> None:
    outcome = score("async def f(): ...\nout = f()")
    assert "coroutine that nobody awaited" in fault(outcome).message


def test_side_info_crosses_and_scores_are_checked_floats(score: Score) -> None:
    side = "{'feedback': 'OK', 'scores': {'a': True}, 'note': [1, (2,)], 3: 'three'}"
    value = score(f"out = 1, {side}").value
    assert value["scores"] == {"a": 1.0}
    assert value["side_info"] == {"note": [1, (2,)], "3": "three"}
    assert value["warnings"] == []


@pytest.mark.parametrize(("thing", "kept"), [("{7}", "{7}"), ("Hostile()", "a value of type Hostile")])
def test_side_info_that_cannot_cross_is_described_with_a_warning(score: Score, thing: str, kept: str) -> None:
    value = score(f"out = 1, {{'feedback': 'OK', 'thing': {thing}}}").value
    assert value["side_info"] == {"thing": kept}
    assert "'thing'" in value["warnings"][0]


def test_huge_feedback_is_cut_with_a_warning(score: Score) -> None:
    value = score("out = 1, {'feedback': 'a' * 9_000_000}").value
    assert len(value["feedback"]) < 1100
    assert "9,000,000 characters; 1,000 of them are kept" in value["warnings"][0]


def test_lone_surrogates_cross_both_ways(score: Score) -> None:
    value = score(r"out = len(output), {'feedback': output + ' \udfff'}", output="\ud800").value
    assert (value["score"], value["feedback"]) == (1.0, "\ud800 \udfff")


def test_an_unmeasured_case_crosses_with_its_reason(score: Score) -> None:
    assert score("out = unmeasured('no reference')").value == {"unmeasured": "no reference"}


def test_the_trace_reaches_a_metric_that_asks_for_it(score: Score) -> None:
    assert score("out = trace['steps'], {'feedback': 'OK'}", trace={"steps": 3}).value["score"] == 3.0


def test_the_observation_is_what_was_measured(score: Score) -> None:
    seen = {"elapsed_ms": 5.0, "cost_usd": 0.5, "model_calls": 2, "prompt_tokens": 3, "completion_tokens": 4}
    code = "o = observation()\nout = o.elapsed_ms, {'feedback': str(o.completion_tokens), 'cost': service_cost()}"
    value = score(code, observation=seen).value
    assert (value["score"], value["feedback"], value["side_info"]) == (5.0, "4", {"cost": 0.5})


def test_without_a_target_call_time_and_cost_are_none(score: Score) -> None:
    code = "o = observation()\nout = 1, {'feedback': 'OK', 'seen': [o.elapsed_ms, service_cost()]}"
    assert score(code).value["side_info"] == {"seen": [None, None]}


def test_llm_asks_the_host_from_any_thread_of_the_users(score: Score) -> None:
    def ask(request: dict[str, Any], clock: CallClock) -> dict[str, Any]:
        return {"text": request["messages"][-1]["content"].upper()}

    code = """
replies = []
threads = [threading.Thread(target=lambda t=t: replies.append(llm('p', t))) for t in ('a', 'b', 'c')]
[t.start() for t in threads]; [t.join() for t in threads]
out = 1, {'feedback': ''.join(sorted(replies))}
"""
    assert score(code, ask=ask).value["feedback"] == "ABC"


def test_a_stop_passes_except_exception_and_closes_the_door_for_good(score: Score) -> None:
    asked = []

    def ask(request: dict[str, Any], clock: CallClock) -> dict[str, Any]:
        asked.append(request)
        return {"stop": "the budget is spent"}

    code = """
seen = []
for _ in range(3):
    try:
        llm('x')
    except Exception:
        seen.append('exception')
    except BaseException as stop:
        seen.append(f'{type(stop).__name__}: {stop}')
out = 1, {'feedback': '; '.join(seen)}
"""
    assert score(code, ask=ask).value["feedback"] == "; ".join(["Stopped: the budget is spent"] * 3)
    assert len(asked) == 1


def test_an_error_in_score_keeps_the_users_frames_only(score: Score) -> None:
    told = fault(score("raise KeyError('label')"))
    assert (told.kind, told.type) == ("raised", "KeyError")
    assert "in score" in told.traceback
    assert "child.py" not in told.traceback


@pytest.mark.parametrize("entry", [METRIC_ENTRY, PYTHON_ENTRY])
def test_a_worker_sees_no_key_and_loads_nothing_heavy(entry: str, run: Score, score: Score) -> None:
    code = "out = [dict(os.environ), sorted(sys.modules)]"
    if entry == PYTHON_ENTRY:
        environment, modules = run(code).value
    else:
        environment, modules = score(f"{code}\nout = 1, {{'feedback': '', 'seen': out}}").value["side_info"]["seen"]
    assert "MY_KEY" not in environment
    assert not {name for name in environment if name.endswith("_KEY")}
    heavy = {"httpx", "jinja2", "sqlalchemy", "litellm", "dspy", "pydantic", "rich", "typer"}
    assert heavy & {name.partition(".")[0] for name in modules} == set()


@pytest.mark.parametrize("value", ["None", "'\\ud800'", "b'x'", "(1, [2.5, {'a': None}])", "float('inf')", "10**5000"])
def test_a_run_returns_any_plain_value(run: Score, value: str) -> None:
    assert run(f"out = {value}").value == eval(value)


@pytest.mark.parametrize(
    ("value", "what"), [("{1}", "of type set"), ("[object()]", r"object at [0]"), ("iter(())", "tuple_iter")]
)
def test_a_run_that_returns_anything_else_fails_as_bad_output(run: Score, value: str, what: str) -> None:
    outcome = run(f"out = {value}")
    assert outcome.kind == "bad_output"
    assert what in fault(outcome).message


def test_a_run_is_given_the_artifact_as_it_is(run: Score) -> None:
    assert run("out = artifact", artifact={"part": "text"}).value == {"part": "text"}


def test_what_an_async_run_returns_is_awaited(tmp_path: Path) -> None:
    path = tmp_path / "run.py"
    path.write_text(
        "import asyncio\nasync def run(artifact, input):\n    await asyncio.sleep(0)\n    return artifact * 2\n"
    )
    with pool_of(PYTHON_ENTRY, path) as pool:
        assert pool.call({"artifact": "ab", "input": {}}, timeout=20).value == "abab"


@pytest.mark.parametrize(
    ("source", "line", "words"),
    [
        ("", None, "run.py defines no function `run`"),
        ("x = 1\ndef run(:\n", 2, "run.py is not valid Python: invalid syntax, in: def run(:"),
        ("import no_such_package_x", 1, "pip install no_such_package_x"),
        ("\n1 / 0", 2, "ZeroDivisionError"),
        ("def run(artifact): ...", 1, "cannot be called as run(artifact, input)"),
        ("run = 3", None, "3 is not a callable object"),
    ],
)
def test_a_target_that_does_not_load_says_where_and_why(
    tmp_path: Path, source: str, line: int | None, words: str
) -> None:
    path = tmp_path / "run.py"
    path.write_text(source)
    with pool_of(PYTHON_ENTRY, path) as pool:
        told = fault(pool.load())
    assert words in f"{told.message}\n{told.traceback}"
    assert told.line == line
    assert "skynet/" not in told.traceback


def test_a_metric_that_does_not_load_names_stage_and_line(tmp_path: Path) -> None:
    path = tmp_path / "metric.py"
    path.write_text("\nscore = 1")
    with pool_of(METRIC_ENTRY, path) as pool:
        told = fault(pool.load())
    assert (told.data["stage"], told.file, told.line) == ("Metric function", str(path), 2)


def test_a_metric_that_kills_its_process_while_loading_is_told(tmp_path: Path) -> None:
    path = tmp_path / "metric.py"
    path.write_text("import os\nos._exit(7)")
    with pool_of(METRIC_ENTRY, path) as pool:
        outcome = pool.load()
    assert (outcome.kind, outcome.loading) == ("died", True)
    assert "exit status 7" in fault(outcome).message


def test_a_function_from_python_is_the_metric_with_its_own_file_and_line(tmp_path: Path) -> None:
    bonus = 0.5

    def judge(input: Any, output: Any) -> Any:
        return bonus, {"feedback": output}

    with pool_of(METRIC_ENTRY, judge, tmp_path) as pool:
        info = pool.load().value
        payload: dict[str, Any] = {"input": {}, "output": "x", "expected": None, "trace": None, "observation": None}
        assert pool.call(payload, timeout=20).value["score"] == 0.5
    assert (info["file"], info["line"]) == (__file__, judge.__code__.co_firstlineno)


def test_a_function_outside_the_contract_names_its_file(tmp_path: Path) -> None:
    with pool_of(METRIC_ENTRY, lambda: None, tmp_path) as pool:
        told = fault(pool.load())
    assert (told.data["stage"], told.file) == ("Metric function", __file__)


def test_a_class_from_python_is_no_metric(tmp_path: Path) -> None:
    with pool_of(METRIC_ENTRY, dict, tmp_path) as pool:
        assert "is a class" in fault(pool.load()).message
