from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from skynet.runs.session import open_store
from skynet.runs.stored_evaluations import StoredEvaluation, stored_evaluations

from .plans import drive, plan, write_plans
from .scripted import scripted

__all__ = ["scripted"]

START, BETTER = plan("start", 0.25, val0="raise"), plan("better", 0.75, val1="metric raises", val2="unmeasured")


@pytest.fixture
def stored(tmp_path: Path, scripted: object) -> list[StoredEvaluation]:
    run = drive(write_plans(tmp_path, START, BETTER)).run
    with open_store(tmp_path, create=False) as store:
        return stored_evaluations(store, store.run(run))


def test_each_version_has_its_evaluations_by_split_and_the_checks_own_scores_are_none(
    stored: list[StoredEvaluation],
) -> None:
    start, better = dict.fromkeys(one.version for one in stored)
    assert {(one.version, one.split) for one in stored} <= {
        (start, "train"), (start, "val"), (start, "test"), (better, "val"),
    }  # fmt: skip
    assert Counter(one.split for one in stored if one.version == better) == {"val": 3}


def test_each_failure_has_its_fault_and_what_was_measured_its_score(stored: list[StoredEvaluation]) -> None:
    on_val = {(one.failure, one.score, one.fault is None) for one in stored if one.split == "val"}
    assert on_val == {
        ("target", None, False), (None, 0.25, True), (None, 0.75, True), ("metric", None, False), (None, None, True),
    }  # fmt: skip
    [fault] = [one.fault for one in stored if one.failure == "metric"]
    assert fault is not None
    assert str(fault).startswith("RuntimeError: no luck (metric.py, line")
