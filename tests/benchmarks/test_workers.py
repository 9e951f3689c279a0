"""What a call through a warm worker costs over the two processes' talking, and how soon a hung one is replaced."""

from __future__ import annotations

import json
import os
import socket
import statistics
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from skynet.data.case import Case
from skynet.evaluation.case_run import ticket_for
from skynet.evaluation.scoring import Metric
from skynet.evaluation.worker_setup import METRIC_ENTRY, worker_setup
from skynet.models.gateway import Gateway
from skynet.models.ledger import Ledger
from skynet.spec import LimitsSpec, ModelsSpec
from skynet.target.base import TargetResult
from skynet.workers.pool import WorkerPool
from skynet.workers.process import WorkerSetup
from tests.benchmarks.entries import read_frame, send_json
from tests.benchmarks.measure import medians_of_pairs, microseconds

METRIC = """
import time

def score(input, output, expected=None):
    if output == "hang":
        time.sleep(3600)
    right = output == expected["label"]
    return float(right), {"feedback": "Correct." if right else f"Expected {expected['label']}, got {output}."}
"""
CASE = Case("1", {"message": "b" * 200}, {"label": "shipping"}, "rows.jsonl", 1)
MEASURED = TargetResult(output="shipping", elapsed_ms=12.5, cost_usd=0.0)
# What a call and its reply put on the wire, as plain JSON.
FRAME = {
    "kind": "call", "number": 1, "seed": 1, "most": 4194304,
    "payload": {
        "input": CASE.input, "output": "shipping", "expected": CASE.expected, "trace": None,
        "observation": {
            "elapsed_ms": 12.5, "cost_usd": 0.0, "model_calls": 0, "prompt_tokens": 0, "completion_tokens": 0,
        },
    },
}  # fmt: skip
CALLS = 2_000
TIMEOUT = 0.3


@pytest.fixture
def metric_setup(tmp_path: Path) -> WorkerSetup:
    path = tmp_path / "metric.py"
    path.write_text(METRIC, encoding="utf-8")
    return worker_setup(METRIC_ENTRY, path, tmp_path, LimitsSpec(), os.environ, ())


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateway]:
    gateway = Gateway(ModelsSpec(), tmp_path, ledger=Ledger(), environ={})
    yield gateway
    gateway.close()


def score(metric: Metric, output: str = "shipping") -> Any:
    return metric.score(CASE, output, ticket_for(0, "v", CASE), MEASURED)


def test_a_metric_call_costs_a_little_more_than_an_echo_of_its_frames(
    metric_setup: WorkerSetup, gateway: Gateway, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(tmp_path / "echo"))
        door.listen()
        entry, config = "tests.benchmarks.entries:metric_with_echo", {**metric_setup.config, "echo": door.getsockname()}
        with WorkerPool(replace(metric_setup, entry=entry, config=config)) as pool:
            metric = Metric(pool, gateway, timeout=5.0)
            assert score(metric).score == 1.0
            connection, _ = door.accept()

            def echo() -> None:
                send_json(connection, FRAME)
                assert json.loads(read_frame(connection)) == FRAME

            with connection:
                ours, bare, more = medians_of_pairs(
                    lambda: microseconds(lambda: score(metric), CALLS), lambda: microseconds(echo, CALLS), 5
                )
    with capsys.disabled():
        print(f"\na metric call {ours:.0f} us, an echo of its frames by its worker {bare:.0f} us: {more:.0f} us more")
    assert ours <= 10 * bare


def test_a_timeout_is_followed_by_a_clean_call_sooner_than_by_a_new_template(
    metric_setup: WorkerSetup, gateway: Gateway, capsys: pytest.CaptureFixture[str]
) -> None:
    with WorkerPool(metric_setup) as pool:
        metric = Metric(pool, gateway, timeout=TIMEOUT)
        assert score(metric).score == 1.0
        waits = []
        for _ in range(7):
            started = time.perf_counter()
            fault = score(metric, "hang").fault
            assert fault is not None
            assert fault.kind == "timeout"
            assert score(metric).score == 1.0
            waits.append((time.perf_counter() - started - TIMEOUT) * 1000)
    started = time.perf_counter()
    with WorkerPool(metric_setup) as pool:
        assert score(Metric(pool, gateway, timeout=5.0)).score == 1.0
        cold = (time.perf_counter() - started) * 1000
    wait = statistics.median(waits)
    with capsys.disabled():
        print(f"\nfrom a timeout to the end of the next clean call {wait:.0f} ms; a new pool's first one {cold:.0f} ms")
    assert wait < cold
