from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skynet.runs.report.charts import interval_plot, score_curve
from tests.runs.report.page import Page

figures = st.floats(-1e6, 1e6).map(lambda value: round(value, 6))


def curve(*points: tuple[int, float]) -> list[dict[str, Any]]:
    return [{"metric_calls": calls, "best_val": value} for calls, value in points]


def drawn(points: list[dict[str, Any]], versions: list[dict[str, Any]]) -> Page:
    return Page(score_curve(points, versions, width=400, height=200, key="k"))


def test_a_curve_says_in_words_what_it_shows() -> None:
    page = drawn(curve((10, 0.5), (40, 0.8)), [])
    [svg] = page.named("svg")
    assert svg.attributes["role"] == "img"
    assert svg.attributes["aria-labelledby"] == "k-title k-desc"
    assert page.by_id("k-desc").text == "The best mean on val went from 0.5 to 0.8 within 40 metric calls."


def test_the_curve_is_made_of_steps_and_rises_upwards() -> None:
    [path] = drawn(curve((0, 0.0), (50, 1.0), (100, 1.0)), []).named("path")
    assert re.fullmatch(r"M[\d.]+ [\d.]+(H[\d.]+V[\d.]+)+H[\d.]+", path.attributes["d"] or "")
    first, second = re.findall(r"V([\d.]+)", path.attributes["d"] or "")
    start = re.search(r" ([\d.]+)H", path.attributes["d"] or "")
    assert start is not None
    assert float(second) == float(first) < float(start[1])


def test_versions_that_were_not_measured_have_no_dot() -> None:
    versions: list[dict[str, Any]] = [{"val_at_call": 5, "val": 0.4}, {"val_at_call": None, "val": None}]
    assert len(drawn(curve((10, 0.5)), versions).with_class("dot")) == 1


def test_a_dot_stands_where_its_step_is_not_where_the_version_was_proposed() -> None:
    versions: list[dict[str, Any]] = [{"at_call": 10, "val_at_call": 40, "val": 0.8}]
    page = drawn(curve((10, 0.5), (40, 0.8)), versions)
    [dot], [end] = page.with_class("dot"), page.with_class("end")
    assert (dot.attributes["cx"], dot.attributes["cy"]) == (end.attributes["cx"], end.attributes["cy"])


@given(st.lists(st.tuples(st.integers(0, 100_000), figures), min_size=1, max_size=8))
def test_everything_is_drawn_inside_the_picture(points: list[tuple[int, float]]) -> None:
    versions: list[dict[str, Any]] = [{"val_at_call": calls, "val": value} for calls, value in points]
    page = drawn(curve(*sorted(points)), versions)
    for circle in page.named("circle"):
        assert 0 <= float(circle.attributes["cx"] or "x") <= 400
        assert 0 <= float(circle.attributes["cy"] or "x") <= 200


@given(st.lists(figures, min_size=3, max_size=3).map(sorted))
def test_an_interval_is_drawn_inside_the_picture(ends: list[float]) -> None:
    low, mean, high = ends
    page = Page(interval_plot(mean, low, high))
    for line in page.named("line"):
        assert 0 <= float(line.attributes["x1"] or "x") <= 400


@pytest.mark.parametrize(("low", "high", "labels"), [(-0.2, 0.6, 2), (0.0, 0.6, 1), (0.2, 0.201, 0)])
def test_labels_of_an_interval_do_not_touch_each_other(low: float, high: float, labels: int) -> None:
    texts = [text.text for text in Page(interval_plot((low + high) / 2, low, high)).named("text")]
    assert len(texts) == 2 + labels
