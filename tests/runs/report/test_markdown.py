from __future__ import annotations

import re
from typing import Any

import pytest

from skynet.runs.report import render_markdown
from tests.runs.report import extremes, samples


def section(text: str, title: str) -> str:
    return text.split(f"## {title}\n\n")[1].split("\n\n## ")[0]


def test_a_success_reads_from_top_to_bottom() -> None:
    text = render_markdown(samples.success())
    assert text.startswith("# reviews\n\nLabel each review")
    assert "**A gain of +0.417 on test.** The best version scored 0.917" in text
    assert "How it ended: The budget of metric calls had no room" in text
    assert "| Test mean | 0.5 | 0.917 | +0.417 |" in section(text, "Start and best")
    assert "\n+Reply with the label only" in section(text, "Diff")
    assert "| Test cases measured | 24 of 24 | 24 of 24 |  |" in section(text, "Start and best")
    assert "| v5 | 0f9e8d7c6b5a | v2 | best | 0.85 | 20 of 20 | 117 |" in section(text, "Versions")
    assert "| candidate: evaluated on 3 train cases only, not better than v2" in section(text, "Versions")
    assert "| metric calls | 218 | 220 |" in section(text, "Budget and cost")
    assert "| dollars | at least $0.0624 | $5.00 |" in section(text, "Budget and cost")
    assert "| reflection | openai/my-large-model | 9 | 14,009 | 2,704 | $0.0411 |" in section(text, "Budget and cost")
    assert "12 cases with the same score and output." in section(text, "Cases")


def test_what_was_turned_down_is_counted_by_reason_with_the_last_ones() -> None:
    told = section(render_markdown(samples.success()), "Proposals turned down")
    assert told.startswith("4 proposals turned down without an evaluation: identical to its parent (3); two code")
    assert "| 150 | 888888888888 | two code fences; send one |" in told


def test_times_are_written_as_dates_and_durations() -> None:
    told = section(render_markdown(samples.success()), "This run")
    for line in ("Started: 2026-11-03 10:15:00 UTC", "Ended: 2026-11-03 10:18:24 UTC", "Time at work: 3 min 24 s"):
        assert f"- {line}" in told


def test_costs_on_the_curve_are_unknown_where_no_price_is() -> None:
    points = [
        {"metric_calls": 9, "usd": None, "usd_lower_bound": True, "best_val": 0.5},
        {"metric_calls": 20, "usd": 0.5, "usd_lower_bound": True, "best_val": 0.6},
    ]
    told = section(render_markdown(samples.success(curve=points)), "Score over budget")
    assert "| 9 | unknown | 0.5 |" in told
    assert "| 20 | at least $0.5000 | 0.6 |" in told


def test_only_changed_cases_are_listed() -> None:
    rows = re.findall(r"^\| \d+ \(test\)", section(render_markdown(samples.success()), "Cases"), flags=re.MULTILINE)
    assert len(rows) == 12


def test_a_long_list_of_cases_is_cut_and_says_so() -> None:
    told = section(render_markdown(extremes.large()), "Cases")
    assert len(re.findall(r"^\| \d+ \(test\)", told, flags=re.MULTILINE)) == 50
    assert "10 more changed cases in report.html." in told


def test_a_failed_run_says_why_and_shows_only_what_there_is() -> None:
    text = render_markdown(samples.failed())
    assert "**The run failed.**" in text
    assert "case 17, metric.py, line 12" in text
    assert re.findall(r"^## (.+)", text, flags=re.MULTILINE) == ["Contract check", "Data", "This run"]


def test_a_hostile_report_has_the_lines_of_a_kind_one() -> None:
    hostile = render_markdown(extremes.hostile())
    hostile.encode("utf-8")
    without_code = re.sub(r"^(`{3,})\w*\n.*?\n\1$", "", hostile, flags=re.MULTILINE | re.DOTALL)
    assert not re.search(r"(?<!\\)[<>`]", without_code)
    for line in without_code.splitlines():
        if line.startswith("|"):
            assert len(re.findall(r"(?<!\\)\|", line)) in (4, 5, 7, 9)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("# no heading", "\\# no heading"),
        ("- no list", "\\- no list"),
        ("1. no list", "1\\. no list"),
        ("--- ", "\\---"),
        ("[a](http://evil)", "\\[a\\](http\\://evil)"),
        ("www.evil.example", "www\\.evil.example"),
        ("*loud* _soft_ snake_case", "\\*loud\\* \\_soft\\_ snake_case"),
        ("two\nlines", "two lines"),
    ],
)
def test_no_string_becomes_markup(text: str, written: str) -> None:
    assert f"\n\n{written}\n\n" in render_markdown(samples.success(objective=text))


def test_a_fence_is_longer_than_any_in_the_text() -> None:
    assert "````diff\n+```\n````" in render_markdown(samples.success(diff="+```"))


@pytest.mark.parametrize("key", sorted(samples.success()))
def test_any_value_may_be_missing(key: str) -> None:
    changes: dict[str, Any] = {key: None}
    assert render_markdown(samples.success(**changes)).startswith("# ")
