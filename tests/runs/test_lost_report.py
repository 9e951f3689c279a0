"""A run whose report could not be written, or is lost: its end is stored, and the journal writes the report anew."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from skynet.runs import drive
from skynet.runs.money import Refused
from skynet.runs.session import open_store, resume_run
from tests.runs.cut_runs import ENGINES, write_loud_project
from tests.runs.quick_runs import QuickRuns, scored
from tests.runs.test_fork import NOWHERE, change


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> QuickRuns:
    return QuickRuns(monkeypatch)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_loud_project(tmp_path, NOWHERE, ENGINES["gepa"])


def report(folder: Path, run: str) -> Path:
    return folder / ".skynet" / "runs" / run / "report.json"


def test_a_disk_that_is_full_for_the_report_loses_nothing(
    quick: QuickRuns, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(data: Any, place: Path) -> Path:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(place / "report.json"))

    monkeypatch.setattr(drive, "write_report", full)
    result = quick.run(folder, metric_calls=150)
    assert (result.status, result.report) == ("finished", None)
    assert result.to_json()["error"].startswith("The report could not be written: ")
    assert "No space left on device" in result.message
    with open_store(folder, create=False) as store:
        row = store.run(result.run)
    assert (row.status, row.result) == ("finished", result.to_json())
    monkeypatch.undo()
    again = QuickRuns(monkeypatch).resume(folder, result.run)
    assert scored(folder) == 0
    assert again.report is not None
    assert again.message == ""
    assert (again.best, again.difference, again.cost_usd) == (result.best, result.difference, result.cost_usd)


@pytest.mark.parametrize("damage", [None, "{", "{}", "[1]"])
def test_a_lost_or_damaged_report_is_written_anew_without_a_call(
    quick: QuickRuns, folder: Path, damage: str | None
) -> None:
    first = quick.run(folder, metric_calls=150)
    path = report(folder, first.run)
    if damage is None:
        path.unlink()
    else:
        path.write_text(damage)
    again = quick.resume(folder, first.run)
    assert scored(folder) == quick.model.requests == 0
    assert again.to_json() == first.to_json()
    assert path.is_file()
    with open_store(folder, create=False) as store:
        assert store.run(first.run).status == "finished"


def test_a_lost_report_of_a_project_that_changed_is_refused_with_the_reason(quick: QuickRuns, folder: Path) -> None:
    first = quick.run(folder, metric_calls=150)
    report(folder, first.run).unlink()
    change(folder, "metric.py", "Right.", "Well done.")
    with pytest.raises(Refused, match=r"report.json is lost or damaged: metric changed"):
        resume_run(folder, first.run)
    with open_store(folder, create=False) as store:
        assert store.run(first.run).status == "finished"
