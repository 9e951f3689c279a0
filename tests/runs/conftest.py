from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from skynet.runs.store import RunRow, Store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".skynet" / "skynet.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with Store(path) as store:
        yield store


@pytest.fixture
def run(store: Store) -> Iterator[RunRow]:
    row, lock = store.start_run("tickets", {"name": "tickets"}, {"data": "abc"})
    with lock:
        yield row
