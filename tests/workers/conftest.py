"""A pool of workers that run source code, and a way to see what still runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from skynet.workers.limits import MIB, Limits, worker_environment
from skynet.workers.pool import WorkerPool
from skynet.workers.process import WorkerSetup
from skynet.workers.worker import Outcome

Run = Callable[..., Outcome]


def setup(entry: str = "run_source", folder: Path = Path("/nowhere"), **config: Any) -> WorkerSetup:
    environment = worker_environment(os.environ)
    return WorkerSetup(f"tests.workers.entries:{entry}", folder, config, (), environment, Limits(memory=400 * MIB))


@pytest.fixture(scope="module")
def pool() -> Iterator[WorkerPool]:
    with WorkerPool(setup(), size=2) as workers:
        yield workers


@pytest.fixture
def run(pool: WorkerPool) -> Run:
    """Run source code in a worker; every fault is checked to leave a clean worker behind."""

    def call(code: str, timeout: float = 20.0, **options: Any) -> Outcome:
        return pool.call({"code": code}, timeout=timeout, **options)

    return call
