"""How near the evaluator comes to what the HTTP client alone reaches with a model that takes 100 ms."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from skynet.evaluation.evaluator import task_cases
from skynet.spec import ModelSpec, ModelsSpec
from tests.benchmarks.fakes import THREADS, Doors, cases, doors
from tests.benchmarks.measure import medians_of_pairs

LATENCY = 0.1
VAL = cases(64 * THREADS)  # so many that the last ones, which leave threads idle, weigh little
# In a process of its own, as a model is: in ours it would compete with both clients.
SERVER = f"""
import sys
from tests.loopback import ModelServer
server = ModelServer("shipping")
server.latency = {LATENCY}
print(server.url, flush=True)
sys.stdin.read()
print(server.most_busy)
"""


@pytest.fixture
def url() -> Iterator[str]:
    """A server that is asked by no more than 32 at a time."""
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", SERVER], stdin=pipe, stdout=pipe, text=True) as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
        most_busy = server.communicate()[0]
    assert int(most_busy) == THREADS


def through_skynet(own: Doors, number: int) -> float:
    """Evaluate a version on all cases through chat target, metric, budget and journal; return calls a second."""
    version = own.evaluator.propose(f"Sort the message, version {number}.", own.start)
    val = task_cases({case.id: case for case in VAL})
    started = time.perf_counter()
    assert {found.status for found in own.evaluator.evaluate(version, val)} == {"ok"}
    return len(val) / (time.perf_counter() - started)


def alone(client: httpx.Client, url: str) -> float:
    """Send the same requests from as many threads; return calls a second."""

    def ask(message: str) -> str:
        turns = [{"role": "system", "content": "Sort the message."}, {"role": "user", "content": message}]
        reply = client.post(f"{url}/chat/completions", json={"model": "loopback", "messages": turns})
        text: str = reply.raise_for_status().json()["choices"][0]["message"]["content"]
        return text

    with ThreadPoolExecutor(THREADS) as threads:
        started = time.perf_counter()
        assert set(threads.map(ask, [case.input["message"] for case in VAL])) == {"shipping"}
        return len(VAL) / (time.perf_counter() - started)


@pytest.mark.timeout(600)
def test_32_cases_at_a_time_reach_what_the_client_alone_does(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    models = ModelsSpec(task=ModelSpec(name="openai/loopback", base_url=url))
    limits = httpx.Limits(max_connections=THREADS, max_keepalive_connections=THREADS)
    numbers = iter(range(10**9))
    with doors(tmp_path / "skynet.db", [], VAL, models=models) as own, httpx.Client(limits=limits) as client:
        through_skynet(own, next(numbers))  # both clients open their connections
        alone(client, url)
        ours, bare, _ = medians_of_pairs(lambda: through_skynet(own, next(numbers)), lambda: alone(client, url), 5)
    with capsys.disabled():
        print(
            f"\n{THREADS} at a time, a model of {LATENCY * 1000:.0f} ms: {ours:.0f} cases/s, the client alone "
            f"{bare:.0f}: {ours / bare:.1%}; load of the machine {os.getloadavg()[0]:.1f}"
        )
    assert ours >= 0.95 * bare
