"""The best version that events, screen, store, report and export tell of is one, though failures come to count less."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from skynet.runs.events import Event, Events
from skynet.runs.progress import Followed
from skynet.runs.session import open_store, resume_run
from skynet.runs.stored import StoredRun

from .plans import drive, plan, write_plans
from .scripted import scripted

__all__ = ["scripted"]

pytestmark = pytest.mark.usefixtures("scripted")

START, FRAIL, SOUND = plan("start", 0.0), plan("frail", 0.1, val0="raise"), plan("sound", 0.05)
LOW = plan("low", 0.0, val1=-10.0)  # from here on a failure counts as -10


def accepted(folder: Path, run: str) -> list[Event]:
    with open_store(folder, create=False) as store:
        return [event for event in Events(store, store.run(run)).read() if event.kind == "accepted"]


def test_all_that_tell_of_the_best_agree(tmp_path: Path) -> None:
    folder = write_plans(tmp_path, START, FRAIL, SOUND, LOW)
    result = drive(folder)
    assert result.best.artifact is not None
    assert result.best.artifact.text == SOUND
    with open_store(folder, create=False) as store:
        row = store.run(result.run)
        shown, found = Followed(Events(store, row)).look(), StoredRun(store, row)
        assert (shown.best_version, shown.best_val) == (result.best.version, 0.05)
        assert found.version("best").artifact.text == SOUND
    last = result.data["curve"][-1]
    assert (last["version"], last["best_val"]) == (result.best.version, result.best.val)
    assert [event.details["val"] for event in accepted(folder, result.run)] == [0.0, pytest.approx(0.2 / 3), 0.05]


def test_a_replay_does_not_tell_it_twice(tmp_path: Path) -> None:
    folder = write_plans(tmp_path, START, FRAIL, SOUND, LOW)
    result = drive(folder)
    before = accepted(folder, result.run)
    shutil.rmtree(folder / ".skynet" / "runs" / result.run)
    again = resume_run(folder, result.run)
    assert again.best == result.best
    assert accepted(folder, result.run) == before


def test_the_start_s_own_mean_is_told_anew_where_it_fell(tmp_path: Path) -> None:
    folder = write_plans(tmp_path, plan("start", 0.3, val0="raise"), plan("worse", 0.0, val1=-1.0, val2=0.1))
    result = drive(folder)
    with open_store(folder, create=False) as store:
        shown = Followed(Events(store, store.run(result.run))).look()
    assert shown.start_val == shown.best_val == result.baseline.val == result.best.val == pytest.approx(-0.4 / 3)
