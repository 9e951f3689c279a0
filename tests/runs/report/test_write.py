from __future__ import annotations

import json
import stat
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from skynet.runs.report import render_html, render_markdown, strict_json, write_report
from tests.runs.report import extremes, samples


def no_constant(name: str) -> Any:
    raise AssertionError(f"{name} is not JSON")


def test_three_files_are_written_and_the_page_is_returned(tmp_path: Path) -> None:
    path = write_report(samples.success(), tmp_path / "deep" / "report")
    assert path == tmp_path / "deep" / "report" / "report.html"
    assert sorted(one.name for one in path.parent.iterdir()) == ["report.html", "report.json", "report.md"]
    assert path.read_text(encoding="utf-8") == render_html(samples.success())
    assert path.with_name("report.md").read_text(encoding="utf-8") == render_markdown(samples.success())
    assert json.loads(path.with_name("report.json").read_text(encoding="utf-8")) == samples.success()


def test_the_json_is_strict_and_keeps_hostile_strings(tmp_path: Path) -> None:
    report = extremes.hostile() | {"seconds": float("nan")}
    text = write_report(report, tmp_path).with_name("report.json").read_text(encoding="ascii")
    read = json.loads(text, parse_constant=no_constant)
    assert read["seconds"] is None
    assert read["name"] == report["name"]


@pytest.mark.parametrize(
    ("value", "ready"),
    [
        (float("inf"), None),
        ([(1, float("nan"))], [[1, None]]),
        ({3: {"a": True}}, {"3": {"a": True}}),
        (date(2026, 11, 3), "2026-11-03"),
        (Decimal("0.10"), "0.10"),
    ],
)
def test_what_json_has_no_form_for_becomes_null_or_text(value: Any, ready: Any) -> None:
    assert strict_json(value) == ready


def test_a_second_report_replaces_the_first(tmp_path: Path) -> None:
    write_report(samples.success(name="first"), tmp_path)
    path = write_report(samples.success(name="second"), tmp_path)
    assert '<h1 dir="auto">second</h1>' in path.read_text(encoding="utf-8")


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path: Path) -> None:
    write_report(samples.success(name="first"), tmp_path)
    (tmp_path / "report.html").unlink()
    (tmp_path / "report.html").mkdir()
    with pytest.raises(OSError, match="directory"):
        write_report(samples.success(name="second"), tmp_path)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["report.html", "report.json", "report.md"]


def test_others_may_read_the_files(tmp_path: Path) -> None:
    path = write_report(samples.success(), tmp_path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
