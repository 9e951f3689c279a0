"""What driving keeps of earlier attempts."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from skynet.runs import drive
from skynet.runs.drive import Watch, cancel_path, keep_verdict
from skynet.runs.run_log import RunLog, log_path
from skynet.runs.store import RunRow, Store

VERDICT = {"mean": 0.5}


def write(folder: Path, difference: Any) -> None:
    (folder / "report.json").write_text(json.dumps({"difference": difference}))
    for ending in ("md", "html"):
        (folder / f"report.{ending}").write_text("earlier")


def test_an_earlier_verdict_is_moved_aside_when_the_new_attempt_has_none(tmp_path: Path) -> None:
    write(tmp_path, VERDICT)
    assert keep_verdict(tmp_path, {"difference": None}) == tmp_path / "before.html"
    assert json.loads((tmp_path / "before.json").read_text()) == {"difference": VERDICT}
    assert not (tmp_path / "report.json").exists()


@pytest.mark.parametrize(("before", "after"), [(None, None), (VERDICT, VERDICT), (None, VERDICT)])
def test_nothing_is_moved_where_no_verdict_would_be_lost(tmp_path: Path, before: Any, after: Any) -> None:
    write(tmp_path, before)
    assert keep_verdict(tmp_path, {"difference": after}) is None
    assert (tmp_path / "report.json").exists()


def test_a_first_attempt_has_nothing_to_keep(tmp_path: Path) -> None:
    assert keep_verdict(tmp_path, {"difference": None}) is None


def test_a_watch_whose_store_fails_says_so_once_and_still_sees_a_wish_to_cancel(
    store: Store, run: RunRow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drive, "_SAVE_SECONDS", 0.0)
    monkeypatch.setattr(drive, "_LOOK_SECONDS", 0.01)
    runner, log = SimpleNamespace(cancel=threading.Event()), RunLog(store.folder, run.id, str)
    kept = store.path.rename(store.path.with_suffix(".away"))
    driven = SimpleNamespace(store=store, row=run, state=lambda: {"active_seconds": 1.0})
    with log.opened(SimpleNamespace(read=lambda after=0: [])), Watch(driven, runner, log):  # type: ignore[arg-type]
        time.sleep(0.3)
        cancel_path(store.folder, run.id).touch()
        assert runner.cancel.wait(5)
    kept.rename(store.path)
    (line,) = log_path(store.folder, run.id).read_text("utf-8").splitlines()
    assert "the active time could not be stored" in line
