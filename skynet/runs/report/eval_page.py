"""The page of an evaluation job: averages with coverage, the comparison, and every row."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from skynet.runs.report.blocks import bullets, ledger_table, long_text, section
from skynet.runs.report.elements import Markup, table, tag
from skynet.runs.report.show import NOTHING, chance, counted, duration, one_line, score, shown, signed

if TYPE_CHECKING:
    from skynet.runs.evaluation_outcome import Item, JobResult, MetricOutcome

_SHOWN_ROWS = 500  # of one metric; the rest stands in its output file
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def render_eval_page(result: JobResult) -> str:
    """Return the page. Every string of the job is escaped; it needs no network and no script."""
    style = files("skynet.runs.report").joinpath("style.css").read_text(encoding="utf-8")
    title = one_line(result.name, 120)
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{title}: evaluation"),
        tag("style", Markup(style)),
    )
    told = f"{counted(result.rows, 'row')}, {counted(len(result.metrics), 'metric')}, {duration(result.seconds)}"
    body = tag(
        "body",
        tag("header", tag("p", "Skynet evaluation", class_="eyebrow"), tag("h1", title, dir="auto"), tag("p", told)),
        tag("main", *_sections(result)),
    )
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def _sections(result: JobResult) -> list[Markup]:
    together = [tag("p", f"{one.name}: {one.corpus.told}.") for one in result.metrics if one.corpus is not None]
    made = [section("averages", "Averages", _averages(result), *together)]
    if any(one.comparison is not None for one in result.metrics):
        made.append(section("comparison", "Against the baseline", _comparisons(result)))
    if result.warnings:
        made.append(section("warnings", "Before you trust it", bullets(result.warnings, "warnings")))
    made += [_rows(one, number) for number, one in enumerate(result.metrics, 1)]
    if result.ledger:
        made.append(section("costs", "Model calls", ledger_table(result.ledger)))
    return made


def _averages(result: JobResult) -> Markup:
    rows = []
    for one in result.metrics:
        found = one.coverage
        asked = {None: NOTHING, True: f"met ({score(one.least)})", False: f"missed ({score(one.least)})"}[one.passed]
        counts = (str(found.scored), str(found.missing), str(found.failed), str(found.total))
        rows.append((one.name, one.type, score(one.average_score), *counts, asked))
    head = ("Metric", "Type", "Average", "Scored", "Unmeasured", "Failed", "Of", "Least")
    return table(head, rows, numeric=(2, 3, 4, 5, 6), class_="stack")


def _comparisons(result: JobResult) -> Markup:
    rows = []
    for one in result.metrics:
        found = one.comparison
        if found is not None:
            interval = NOTHING if found.low is None else f"{signed(found.low)} to {signed(found.high)}"
            tally = f"{found.wins} / {found.ties} / {found.losses}"
            rows.append((one.name, signed(found.mean), interval, chance(found.p), tally, str(found.unpaired)))
    head = ("Metric", "Difference", "95 % interval", "Sign-flip test", "Better / same / worse", "Not in both")
    return table(head, rows, numeric=(1,), class_="stack")


def _rows(one: MetricOutcome, number: int) -> Markup:
    left = len(one.items) - _SHOWN_ROWS
    more = tag("p", f"{left:,} more rows stand in {one.name}_eval_output.json.", class_="quiet") if left > 0 else None
    rows = [_row(item) for item in one.items[:_SHOWN_ROWS]]
    head = ("Row", "Score", "Output", "Reasoning or error")
    return section(f"metric-{number}", one.name, table(head, rows, numeric=(1,), class_="stack"), more)


def _row(item: Item) -> tuple[str, ...]:
    told = item.reasoning if item.error is None else f"Failed: {item.error}"
    mark = score(item.score) if item.score is not None else "failed" if item.error is not None else "unmeasured"
    return (item.id, mark, long_text(shown(item.output), "whole output"), long_text(told, "whole text"))
