from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import skynet
from tests.cli.conftest import Made
from tests.made_runs import BEST


def test_json_lists_the_versions_in_the_order_they_came(made: Made) -> None:
    rows = skynet("versions", made.result.run, made.folder, "--json").json
    start, best, worse = rows
    assert [row["number"] for row in rows] == [0, 1, 2]
    assert (start["status"], start["parent"], start["val"]) == ("start", None, 0.0)
    assert (best["status"], best["parent"], best["val"]) == ("best", start["version"], 1.0)
    assert best["text"].strip() == BEST
    assert (best["coverage"]["measured"], best["coverage"]["total"], best["reason"]) == (4, 4, None)
    assert (worse["status"], worse["val"], worse["reason"]) == ("candidate", 0.0, None)
    assert start["at_call"] < best["at_call"] < worse["at_call"]


def test_without_an_id_the_newest_run_is_meant(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(made.folder)
    out = skynet("versions").out
    assert out.startswith(f"Run {made.result.run}, 3 versions")
    assert "sample 1" in out


def test_a_project_without_a_run_is_refused(tmp_path: Path) -> None:
    done = skynet("versions", "", tmp_path)
    assert done.status == 2
    assert "`skynet run` makes one" in done.err
