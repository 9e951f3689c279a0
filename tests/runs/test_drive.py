"""What driving keeps of earlier attempts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from skynet.runs.drive import keep_verdict

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
