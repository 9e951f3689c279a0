from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from skynet.runs.report import render_html
from tests.runs.report import extremes, samples
from tests.runs.report.page import Page

SAMPLES = [
    samples.success, samples.no_gain, samples.rejected, samples.no_test, samples.failed,
    extremes.hostile, extremes.large,
]  # fmt: skip
every_sample = pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.__name__)


def page_of(report: dict[str, Any]) -> Page:
    return Page(render_html(report))


@every_sample
def test_a_page_is_well_formed_and_can_be_encoded(sample: Callable[[], dict[str, Any]]) -> None:
    source = render_html(sample())
    source.encode("utf-8")
    assert [one.name for one in Page(source).elements][:2] == ["html", "head"]


@every_sample
def test_a_page_fetches_nothing_and_runs_only_its_own_script(sample: Callable[[], dict[str, Any]]) -> None:
    page = page_of(sample())
    loading = {"src", "srcset", "action", "data", "poster", "xlink:href"}
    assert [one for one in page.elements if loading & set(one.attributes)] == []
    assert [name for one in page.elements for name in one.attributes if name.startswith("on")] == []
    assert all((one.attributes.get("href") or "#").startswith("#") for one in page.elements)
    [script] = page.named("script")
    [style] = page.named("style")
    digest = base64.b64encode(hashlib.sha256(script.text.encode()).digest()).decode()
    policy = page.elements[3].attributes["content"] or ""
    assert policy.startswith("default-src 'none';")
    assert f"script-src 'sha256-{digest}'" in policy
    assert not re.search(r"url\(|@import", style.text)


@every_sample
def test_ids_are_unique_and_every_reference_arrives(sample: Callable[[], dict[str, Any]]) -> None:
    page = page_of(sample())
    ids = [one.attributes["id"] for one in page.elements if "id" in one.attributes]
    assert len(ids) == len(set(ids))
    wanted = {name for one in page.elements for name in (one.attributes.get("aria-labelledby") or "").split()}
    wanted |= {(one.attributes.get("href") or "")[1:] for one in page.named("a")}
    assert wanted <= set(ids)


@every_sample
def test_headings_descend_one_level_at_a_time(sample: Callable[[], dict[str, Any]]) -> None:
    levels = [int(one.name[1]) for one in page_of(sample()).elements if re.fullmatch(r"h[1-6]", one.name)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


@every_sample
def test_every_picture_has_words_or_is_decoration(sample: Callable[[], dict[str, Any]]) -> None:
    for svg in page_of(sample()).named("svg"):
        assert svg.attributes.get("aria-hidden") == "true" or svg.attributes["role"] == "img"


def test_the_style_knows_the_dark_and_the_narrow_screen() -> None:
    [style] = page_of(samples.success()).named("style")
    assert "prefers-color-scheme: dark" in style.text
    assert "max-width" in style.text


def test_a_success_shows_every_part() -> None:
    page = page_of(samples.success())
    assert "A gain of +0.417 on test" in page.by_id("verdict").text
    assert "budget of metric calls" in page.by_id("verdict").text
    assert "Train rows stand in the artifact" in page.by_id("warnings").text
    assert "brevity0.310.8+0.49" in page.by_id("figures").text
    assert "+Reply with the label only" in page.by_id("diff").text
    assert "Named the two labels" in page.by_id("versions").text
    assert "4 proposals turned down" in page.by_id("versions").text
    assert "150888888888888two code fences" in page.by_id("versions").text
    assert "evaluated on 3 train cases only, not better than v2" in page.by_id("versions").text
    assert "Test cases measured24 of 2424 of 24" in page.by_id("figures").text
    assert "reflectionopenai/my-large-model914,0092,704$0.0411" in page.by_id("cost").text
    assert "dollarsat least $0.0624$5.00" in page.by_id("cost").text
    assert "my-judge1290024unknown" in page.by_id("cost").text
    assert "99 %" in page.by_id("cost").text
    assert "Signal warning" in page.by_id("check").text
    assert "The test rows were scored once" in page.by_id("data").text
    assert "123 test" in page.by_id("cases").text


def test_times_are_written_as_dates_and_durations() -> None:
    [footer] = page_of(samples.success()).named("footer")
    assert "Started2026-11-03 10:15:00 UTCEnded2026-11-03 10:18:24 UTCTime at work3 min 24 s" in footer.text


def test_changed_cases_are_open_and_the_others_folded() -> None:
    page = page_of(samples.success())
    changed, same = page.with_class("cases")
    assert changed.text.count("+1 won") == 11
    assert same.text.count("same") == 12
    [rest] = [one for one in page.with_class("rest") if "same score and output" in one.text]
    assert "open" not in rest.attributes


def test_outputs_and_feedback_of_both_sides_stand_in_one_row() -> None:
    page = page_of(samples.success(cases=[samples.case(1, 0.0, 1.0)]))
    [row] = [one for one in page.named("tr") if "data-outcome" in one.attributes]
    assert row.attributes["data-outcome"] == "won"
    for text in (
        "Sure! I'd say",
        "Expected exactly 'negative'",
        "score 0",
        "score 1",
        "Correct.",
        "142 ms · $0.00012",
        "+1 won",
    ):
        assert text in row.text


def test_a_failed_target_is_told_with_its_error() -> None:
    broken = samples.side(None, None, "ValueError: x", status="failed", failure="target", error="ValueError: x")
    page = page_of(samples.success(cases=[samples.case(1, 0.0, 1.0) | {"best": broken}], failure_score=0.0))
    [row] = [one for one in page.named("tr") if "data-outcome" in one.attributes]
    assert "target failed" in row.text
    assert row.text.count("ValueError: x") == 1


def test_a_long_text_is_folded_and_whole_inside() -> None:
    long = "word " * 300
    entry = samples.case(1, 0.0, 1.0) | {"best": samples.side(1.0, long, "Correct.")}
    [folded] = [one for one in page_of(samples.success(cases=[entry])).named("details") if "1,500 char" in one.text]
    assert long in folded.text


def test_a_failed_run_says_why_and_shows_only_what_there_is() -> None:
    page = page_of(samples.failed())
    assert "The run failed" in page.by_id("verdict").text
    assert "metric.py line 12" in page.by_id("verdict").text
    assert "failed · case 17, metric.py, line 12" in page.by_id("check").text
    assert [one.text for one in page.named("a")] == ["Check", "Data"]


def test_a_run_without_a_test_split_draws_no_verdict() -> None:
    page = page_of(samples.no_test())
    assert "Nothing is held out" in page.by_id("verdict").text
    assert page.with_class("interval") == []
    assert "No test split" in page.by_id("data").text


def test_the_rejected_version_is_named_as_such() -> None:
    page = page_of(samples.rejected())
    assert "rejected on test" in page.by_id("versions").text
    assert "Rejected v5" in page.by_id("cases").text


def test_the_figures_of_a_rejected_version_are_its_own() -> None:
    assert "Test mean0.50.417−0.083" in page_of(samples.rejected()).by_id("figures").text


def test_demonstrations_and_labels_are_told() -> None:
    page = page_of(samples.no_gain())
    assert "user: Arrived a day early." in page.by_id("demonstrations").text
    assert "labels = true" in page.by_id("warnings").text


def test_a_hostile_report_has_the_same_elements_as_a_kind_one() -> None:
    names = {one.name for one in page_of(extremes.hostile()).elements}
    assert names == {one.name for one in page_of(samples.no_gain()).elements} | {"pre"}
    assert page_of(extremes.hostile()).by_id("verdict").text.count("<script>alert(1)") == 1


def test_a_text_written_from_right_to_left_keeps_its_own_direction() -> None:
    page = page_of(extremes.hostile())
    [demonstration] = [one for one in page.with_class("text") if one.text == extremes.RTL][:1]
    assert demonstration.attributes["dir"] == "auto"


@pytest.mark.parametrize("key", sorted(samples.success()))
def test_any_value_may_be_missing(key: str) -> None:
    page_of(samples.success(**{key: None}))


def test_an_empty_report_is_a_page_without_a_verdict() -> None:
    assert "Nothing was gained" not in page_of({"status": "interrupted", "run": "r1"}).by_id("verdict").text


def test_many_versions_scroll_in_a_box_that_the_keyboard_reaches() -> None:
    page = page_of(extremes.large())
    [box] = page.with_class("box")
    assert box.attributes["tabindex"] == "0"
    assert len(page.with_class("rails")) == 100
