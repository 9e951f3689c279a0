"""The per-case table of the page: outputs and feedback of start and best side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from skynet.runs.report.blocks import long_text, section
from skynet.runs.report.cases import CaseRow, Side, case_rows
from skynet.runs.report.elements import Markup, join, tag
from skynet.runs.report.figures import side_names
from skynet.runs.report.show import NOTHING, counted, dollars, milliseconds, one_line, score, shown, signed

_MARKS = {"won": "▲", "lost": "▼", "other": "~", "same": "=", "open": "?"}
_WORDS = {"won": "won", "lost": "lost", "other": "same score, other output", "same": "same", "open": "not compared"}


def case_section(report: Mapping[str, Any]) -> Markup | None:
    """Return the section of all cases: the changed ones open, the rest folded. None when there are no cases."""
    rows = case_rows(report)
    if not rows:
        return None
    names = side_names(report)
    changed, same = [row for row in rows if row.changed], [row for row in rows if not row.changed]
    table = _table(changed, names, "Cases that changed") if changed else None
    rest = None
    if same:
        summary = tag("summary", f"{counted(len(same), 'case')} with the same score and output")
        rest = tag(
            "details", summary, _table(same, names, "Cases that did not change"), class_="rest", open=not changed
        )
    return section("cases", "Cases", tag("p", _tally(rows), class_="quiet"), _filters(rows), table, rest)


def _tally(rows: Sequence[CaseRow]) -> str:
    counts = {name: sum(row.outcome == name for row in rows) for name in _WORDS}
    told = ", ".join(f"{count} {_WORDS[name]}" for name, count in counts.items() if count)
    return f"{counted(len(rows), 'row')}: {told}. Cases that changed come first."


def _filters(rows: Sequence[CaseRow]) -> Markup:
    """Return the controls that the page's script shows; without it all rows are there anyway."""
    present = [name for name in _WORDS if any(row.outcome == name for row in rows)]
    buttons = [
        tag("button", label, type="button", data_outcome=name, aria_pressed="true" if name == "all" else "false")
        for name, label in [("all", "All"), *((name, f"{_MARKS[name]} {_WORDS[name]}") for name in present)]
    ]
    search = tag("input", type="search", placeholder="Find in cases", aria_label="Find in cases")
    return tag("div", *buttons, search, tag("span", role="status", class_="quiet"), class_="filters", hidden=True)


def _table(rows: Sequence[CaseRow], names: tuple[str, str], caption: str) -> Markup:
    with_expected = any(row.expected is not None for row in rows)
    columns = ["Case", *(["Expected"] if with_expected else []), *names, "Change"]
    head = tag("tr", *(tag("th", name, scope="col") for name in columns))
    body = [_row(row, names, with_expected) for row in rows]
    return tag(
        "table",
        tag("caption", caption, class_="hidden"),
        tag("thead", head),
        tag("tbody", *body),
        class_="stack cases" + ("" if with_expected else " short"),
    )


def _row(row: CaseRow, names: tuple[str, str], with_expected: bool) -> Markup:
    repeated = f" · repetition {row.repetition}" if row.repetition is not None else ""
    case = tag(
        "th",
        tag("span", one_line(row.case, 80), class_="id", dir="auto"),
        tag("span", f" {row.split}{repeated}", class_="split"),
        long_text(shown(_single(row.input)), "whole input"),
        scope="row",
    )
    expected = None
    if with_expected:
        expected = tag("td", long_text(shown(_single(row.expected)), "whole expected value"), data_label="Expected")
    sides = [tag("td", _side(side), data_label=name) for side, name in zip((row.start, row.best), names, strict=True)]
    change = tag(
        "td",
        tag("span", f"{_MARKS[row.outcome]} {_change(row)}", class_=f"change {row.outcome}"),
        data_label="Change",
        class_="verdict",
    )
    return tag("tr", case, expected, *sides, change, data_outcome=row.outcome)


def _change(row: CaseRow) -> str:
    return f"{signed(row.change)} {_WORDS[row.outcome]}" if row.change else _WORDS[row.outcome]


def _single(value: Any) -> Any:
    """One column's value stands without its name."""
    return next(iter(value.values())) if isinstance(value, Mapping) and len(value) == 1 else value


def _side(side: Side | None) -> Markup:
    if side is None:
        return tag("div", "not run", class_="quiet")
    feedback, error = side.get("feedback"), side.get("error")
    return tag(
        "div",
        tag("div", tag("b", _standing(side), class_="score"), tag("span", _measures(side), class_="split")),
        None if side.get("output") is None else long_text(shown(side["output"]), "whole output", "text output"),
        long_text(str(error), "whole error", "text error") if error else None,
        long_text(str(feedback), "whole feedback", "text feedback") if feedback and feedback != error else None,
        _named(side.get("scores") or {}),
    )


def _standing(side: Side) -> str:
    if side.get("failure"):
        at = f" (counts as {score(side['score'])})" if side.get("score") is not None else ""
        return f"✗ {side['failure']} failed{at}"
    if side.get("score") is None:
        return "unmeasured" if side.get("status") == "unmeasured" else f"no score ({side.get('status')})"
    return f"score {score(side['score'])}"


def _measures(side: Side) -> str:
    told = [milliseconds(side.get("elapsed_ms")), dollars(side.get("cost_usd"))]
    return "".join(f" · {one}" for one in told if one != NOTHING)


def _named(scores: Mapping[str, Any]) -> Markup | None:
    if not scores:
        return None
    return tag(
        "div",
        join(tag("span", f"{one_line(name, 60)} {score(value)}") for name, value in scores.items()),
        class_="named",
    )
