from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from skynet.artifact import Artifact
from skynet.data.case import Case
from skynet.target.base import TargetResult, Ticket
from skynet.target.code import CodeTarget
from skynet.target.folder import PrivateFolder
from skynet.target.worker_calls import WorkerCalls
from skynet.workers.limits import worker_environment
from skynet.workers.pool import WorkerPool
from skynet.workers.process import WorkerSetup
from tests.loopback import ModelServer
from tests.target.conftest import MakeGateway

Run = Callable[..., TargetResult]
PROJECT = "project"


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[WorkerPool, PrivateFolder]]:
    project = tmp_path_factory.mktemp(PROJECT)
    (project / "metric.py").write_text("SECRET = 1")
    folder = PrivateFolder()
    environment = worker_environment({**os.environ, "OPENAI_API_KEY": "secret"})
    config: dict[str, object] = {"folder": str(folder.path), "file": "solution.py", "entry": "run"}
    setup = WorkerSetup(
        "skynet.evaluation.child_code:code_target", folder.path, config, (), environment, hidden=(project,)
    )
    with WorkerPool(setup, size=2) as pool:
        yield pool, folder
    folder.close()


@pytest.fixture
def target(places: tuple[WorkerPool, PrivateFolder], make_gateway: MakeGateway) -> CodeTarget:
    pool, folder = places
    return CodeTarget(WorkerCalls(pool, make_gateway(), 5), folder, "run")


@pytest.fixture
def run(target: CodeTarget) -> Run:
    def call(source: str, **input: Any) -> TargetResult:
        artifact = Artifact("code", source)
        return target.run(artifact, Ticket(Case("7", input, None, "", 7), artifact.id))

    return call


@pytest.mark.parametrize(
    "source",
    [
        "def run(input):\n    return input['n'] * 2",
        "async def run(input):\n    return input['n'] * 2",
        "run = lambda input: input['n'] * 2",
        "class Twice:\n    def __call__(self, input): return input['n'] * 2\nrun = Twice()",
        "from dataclasses import dataclass\n@dataclass\nclass P:\n    n: int\nrun = lambda input: P(input['n']).n * 2",
    ],
)
def test_any_callable_of_that_name_is_run(source: str, run: Run) -> None:
    result = run(source, n=21)
    assert (result.fault, result.output) == (None, 42)
    assert result.cost_usd == 0.0


def test_a_failing_case_tells_traceback_and_prints(run: Run) -> None:
    result = run("def run(input):\n    print('before', input)\n    return 1 / input['n']\n", n=0)
    assert result.fault is not None
    assert (result.fault.type, result.fault.file, result.fault.line) == ("ZeroDivisionError", "solution.py", 3)
    assert 'File "solution.py", line 3, in run\n    return 1 / input' in result.fault.traceback
    assert "child_code" not in result.fault.traceback
    assert result.stdout == "before {'n': 0}\n"


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("x = 1 / 0\ndef run(input): pass", "division by zero"),
        ("def solve(input): pass", "solution.py defines no function `run`. Write it as: def run(input)."),
        ("run = 5", "sets to int, which is no function, the name `run`"),
        ("def run(): pass", "cannot be called as run(input)"),
        ("def run(a, b): pass", "missing a required argument"),
        ("raise SystemExit(3)", "3"),
        ("import nowhere_at_all\ndef run(input): pass", "nowhere_at_all"),
    ],
)
def test_code_that_does_not_load_fails_the_case_and_is_not_loaded_again(source: str, told: str, run: Run) -> None:
    result = run(source)
    assert result.fault is not None
    assert told in str(result.fault)
    assert result.elapsed_ms is None
    assert run(source) is result


def test_a_version_keeps_its_worker_and_another_version_never_sees_it(run: Run) -> None:
    counting = (
        "import os, sys\nseen = []\ndef run(input):\n    seen.append(1)\n    sys.mine = True\n"
        "    return os.getpid(), len(seen)\n"
    )
    first, second = run(counting).output, run(counting).output
    assert first[0] == second[0]
    assert second[1] == 2
    other = run("import os, sys\ndef run(input):\n    return os.getpid(), hasattr(sys, 'mine')\n").output
    assert other[0] != first[0]
    assert other[1] is False
    assert run(counting).output == (first[0], 3)  # with room for two, both versions keep their workers


def test_more_versions_than_workers_are_served_one_after_another(run: Run) -> None:
    outputs = [run(f"def run(input):\n    return {number}").output for number in [*range(5), *range(5)]]
    assert outputs == [*range(5), *range(5)]


def test_each_case_finds_an_empty_folder_of_its_own(run: Run, places: tuple[WorkerPool, PrivateFolder]) -> None:
    source = (
        "import os\ndef run(input):\n    found = os.listdir()\n    open('left.txt', 'w').close()\n"
        "    os.makedirs('a/b')\n    return os.getcwd(), found\n"
    )
    first, second = run(source).output, run(source).output
    assert first[1] == second[1] == []
    assert Path(first[0]).parent == places[1].path


def test_neither_keys_nor_the_metric_are_at_hand(run: Run) -> None:
    result = run("import os\nimport metric\ndef run(input):\n    return 'OPENAI_API_KEY' in os.environ")
    assert result.fault is not None
    assert result.fault.type == "ModuleNotFoundError"
    assert run("import os\ndef run(input):\n    return 'OPENAI_API_KEY' in os.environ").output is False


def test_a_loop_without_end_is_stopped_and_the_next_case_runs(target: CodeTarget, make_gateway: MakeGateway) -> None:
    artifact = Artifact("code", "def run(input):\n    while input.get('hang'): pass\n    return 1\n")
    quick = CodeTarget(WorkerCalls(target._calls.pool, make_gateway(), 0.3), target._folder, "run")
    hung = quick.run(artifact, Ticket(Case("1", {"hang": True}, None, "", 1), artifact.id))
    assert hung.fault is not None
    assert hung.fault.kind == "timeout"
    assert quick.run(artifact, Ticket(Case("2", {}, None, "", 2), artifact.id)).output == 1


def test_the_host_clocks_the_call_whatever_the_code_does_to_its_clock(run: Run) -> None:
    source = "import time\nreal = time.sleep\ntime.perf_counter = lambda: 0.0\ndef run(input):\n    real(0.2)\n"
    began = time.perf_counter()
    result = run(source)
    assert result.elapsed_ms is not None
    assert 200 <= result.elapsed_ms <= (time.perf_counter() - began) * 1000


def test_llm_reaches_the_task_model_and_is_priced(run: Run, model_server: ModelServer) -> None:
    model_server.reply = "two words"
    result = run("from skynet import llm\ndef run(input):\n    return llm('Say something')\n")
    assert result.output == "two words"
    assert (result.model_calls, result.cost_usd) == (1, 6.0)


def test_the_clock_floor_is_that_of_a_version_that_does_nothing(target: CodeTarget) -> None:
    floor = target.clock_floor_ms()
    assert floor is not None
    assert floor > 0


def test_the_folder_is_gone_in_the_end() -> None:
    folder = PrivateFolder()
    (folder.path / "left").mkdir()
    folder.close()
    assert not folder.path.exists()
