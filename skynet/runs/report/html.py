"""The report as one HTML page that needs no network, no script and no colour to be read."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from skynet.runs.report.blocks import (
    budget_table,
    bullets,
    demonstration_list,
    diff_block,
    figure_table,
    ledger_table,
    long_text,
    section,
    stage_list,
)
from skynet.runs.report.case_table import case_section
from skynet.runs.report.charts import interval_plot, score_curve
from skynet.runs.report.elements import Markup, join, table, tag
from skynet.runs.report.figures import CURVE_HEAD, curve_rows, figures, figures_told, side_names
from skynet.runs.report.lineage_table import lineage_section
from skynet.runs.report.show import NOTHING, counted, cut, duration, milliseconds, moment, one_line, whole
from skynet.runs.report.words import Headline, case_counts, finish_sentence, headline, notices, times_seen

_MARKS = {"gain": "▲", "none": "=", "unknown": "?", "failed": "✗"}
_DIFF_CHARS = 100_000


def render_html(report: Mapping[str, Any]) -> str:
    """Return the page of a report in strict JSON terms. Every string of it is escaped; UTF-8 can hold the result."""
    package = files("skynet.runs.report")
    style, script = (package.joinpath(name).read_text(encoding="utf-8") for name in ("style.css", "filter.js"))
    verdict = headline(report)
    sections = [(key, one) for key, one in _sections(report) if one is not None]
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy(script)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{one_line(str(report.get('name') or 'Skynet run'), 120)}: {verdict.title}"),
        tag("style", Markup(style)),
    )
    body = tag(
        "body",
        _header(report),
        tag("main", _verdict(report, verdict), _warnings(report), _navigation(sections), *(one for _, one in sections)),
        _footer(report),
        tag("script", Markup(script)),
    )
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def _policy(script: str) -> str:
    """Forbid every fetch, and every script but this page's own."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    scripts = f"script-src 'sha256-{digest}'"
    return f"default-src 'none'; style-src 'unsafe-inline'; {scripts}; base-uri 'none'; form-action 'none'"


def _header(report: Mapping[str, Any]) -> Markup:
    objective = report.get("objective")
    return tag(
        "header",
        tag("p", "Skynet report", class_="eyebrow"),
        tag("h1", one_line(str(report.get("name") or "Unnamed run"), 120), dir="auto"),
        tag("div", long_text(str(objective), "whole objective"), class_="objective") if objective else None,
    )


def _verdict(report: Mapping[str, Any], verdict: Headline) -> Markup:
    difference = report.get("difference") or {}
    measured = verdict.tone in ("gain", "none") and None not in (
        difference.get("mean"),
        difference.get("low"),
        difference.get("high"),
    )
    plot = interval_plot(difference["mean"], difference["low"], difference["high"]) if measured else None
    error, ending = report.get("error"), finish_sentence(report)
    return tag(
        "section",
        tag(
            "h2",
            tag("span", _MARKS[verdict.tone], class_="mark", aria_hidden="true"),
            verdict.title,
            id="verdict-heading",
        ),
        tag("p", verdict.sentence, class_="lead"),
        tag("pre", cut(str(error)), class_="error", dir="auto") if error else None,
        tag("figure", plot, _tally(difference)) if plot else None,
        tag("p", tag("b", "How it ended: "), ending, class_="ending") if ending and verdict.tone != "failed" else None,
        id="verdict",
        class_=f"verdict-card {verdict.tone}",
        aria_labelledby="verdict-heading",
    )


def _tally(difference: Mapping[str, Any]) -> Markup:
    """Return won, tied and lost cases as one bar with its words under it."""
    parts = [(name, difference.get(name) or 0) for name in ("wins", "ties", "losses")]
    bar = tag("div", *(tag("span", class_=name, style=f"flex-grow:{count}") for name, count in parts if count))
    return tag("figcaption", tag("div", bar, class_="tally", aria_hidden="true"), f"Cases: {case_counts(difference)}")


def _warnings(report: Mapping[str, Any]) -> Markup | None:
    warnings = [str(one) for one in report.get("warnings") or []]
    about_data = report.get("data_warnings") or []
    told = notices(report)
    if not (warnings or about_data or told):
        return None
    pointer = tag("a", f"{counted(len(about_data), 'warning')} about the data", href="#data") if about_data else None
    return tag(
        "section",
        tag("h2", "Before you trust it" if warnings or about_data else "Notes", id="warnings-heading"),
        bullets(warnings, "warnings") if warnings else None,
        tag("ul", tag("li", pointer), class_="warnings") if pointer else None,
        bullets(told, "notes") if told else None,
        id="warnings",
        aria_labelledby="warnings-heading",
    )


def _navigation(sections: list[tuple[str, Markup]]) -> Markup:
    titles = {"figures": "Start and best", "curve": "Score over budget"}
    links = [tag("a", titles.get(key, key.capitalize()), href=f"#{key}") for key, _ in sections]
    return tag("nav", *links, aria_label="Sections")


def _sections(report: Mapping[str, Any]) -> list[tuple[str, Markup | None]]:
    return [
        ("figures", _figures(report)),
        ("diff", _diff(report)),
        ("demonstrations", _demonstrations(report)),
        ("curve", _curve(report)),
        ("versions", lineage_section(report)),
        ("cost", _cost(report)),
        ("check", _check(report)),
        ("data", _data(report)),
        ("cases", case_section(report)),
    ]


def _figures(report: Mapping[str, Any]) -> Markup | None:
    lines = figures(report)
    if not lines:
        return None
    told = tag("p", figures_told(report), class_="quiet")
    return section("figures", "Start and best", figure_table(lines, side_names(report)), told, _clock(report))


def _demonstrations(report: Mapping[str, Any]) -> Markup | None:
    demonstrations = report.get("demonstrations") or []
    if not demonstrations:
        return None
    return section("demonstrations", "Demonstrations in the best version", demonstration_list(demonstrations))


def _clock(report: Mapping[str, Any]) -> Markup | None:
    floor = (report.get("time") or {}).get("clock_floor_ms")
    return (
        tag("p", f"The clock's floor is {milliseconds(floor)} per call.", class_="quiet") if floor is not None else None
    )


def _diff(report: Mapping[str, Any]) -> Markup | None:
    text = str(report.get("diff") or "")
    first, second = side_names(report)
    if not text:
        known = (report.get("best") or {}).get("version") is not None
        same = tag("p", f"{first} and {second.lower()} are the same text.", class_="quiet")
        return section("diff", "Diff", same) if known else None
    told = tag("p", f"From {first.lower()} to {second.lower()}.", class_="quiet")
    return section("diff", "Diff", told, diff_block(cut(text, _DIFF_CHARS)))


def _curve(report: Mapping[str, Any]) -> Markup | None:
    curve = [point for point in report.get("curve") or [] if point.get("best_val") is not None]
    if not curve:
        return None
    versions = report.get("versions") or []
    return section(
        "curve",
        "Score over budget",
        tag(
            "p",
            "Steps: the best mean on val so far. Dots: each version's own, when it was known. Dashes: the start.",
            class_="quiet",
        ),
        tag("div", score_curve(curve, versions, width=960, height=280, key="wide"), class_="wide"),
        tag("div", score_curve(curve, versions, width=380, height=260, key="narrow"), class_="narrow"),
        tag(
            "details",
            tag("summary", "The same as figures"),
            table(CURVE_HEAD, curve_rows(report), numeric=(0, 1, 2)),
            class_="rest",
        ),
    )


def _cost(report: Mapping[str, Any]) -> Markup | None:
    budget, ledger = budget_table(report.get("budget") or {}), report.get("ledger") or []
    if budget is None and not ledger:
        return None
    models = join([tag("h3", "Models by role"), ledger_table(ledger)]) if ledger else None
    return section("cost", "Budget and cost", budget, models or tag("p", "No model was called.", class_="quiet"))


def _check(report: Mapping[str, Any]) -> Markup | None:
    stages = (report.get("check") or {}).get("stages") or []
    if not stages:
        return None
    return section("check", "Contract check", stage_list(stages))


def _data(report: Mapping[str, Any]) -> Markup:
    sizes = report.get("split_sizes") or {}
    rows = [
        (name, whole(sizes.get(name)), use)
        for name, use in (
            ("train", "the engine learns from these"),
            ("val", "these choose the best version"),
            ("test", "sealed: scored once, at the end"),
        )
    ]
    warnings = [str(one) for one in report.get("data_warnings") or []]
    seen = times_seen(report)
    return section(
        "data",
        "Data",
        table(("Split", "Cases", "Use"), rows, numeric=(1,), class_="splits"),
        tag("p", seen, class_="quiet") if seen else None,
        bullets(warnings, "warnings") if warnings else None,
    )


def _footer(report: Mapping[str, Any]) -> Markup:
    engine = report.get("engine") or {}
    options = engine.get("options") or {}
    parts = [
        ("Run", report.get("run")),
        ("Status", report.get("status")),
        ("Finish reason", report.get("finish_reason")),
        ("Engine", " ".join(str(engine[key]) for key in ("name", "package", "version") if engine.get(key))),
        ("Options", ", ".join(f"{one_line(key, 40)} = {one_line(str(value), 80)}" for key, value in options.items())),
        ("Started", moment(report.get("started_at"))),
        ("Ended", moment(report.get("ended_at"))),
        ("Time at work", duration(report.get("seconds"))),
        ("Skynet", report.get("skynet_version")),
    ]
    rows = [
        tag("div", tag("dt", name), tag("dd", one_line(str(value), 200), dir="auto"))
        for name, value in parts
        if value not in (None, "", NOTHING)
    ]
    return tag("footer", tag("h2", "This run"), tag("dl", *rows))
