"""The page's tree of versions: rails beside a table, one row per version."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skynet.runs.report.blocks import long_text, section
from skynet.runs.report.charts import rails, rails_width
from skynet.runs.report.elements import Markup, join, table, tag
from skynet.runs.report.figures import challenger, covered
from skynet.runs.report.lineage import LineageRow, lay_out
from skynet.runs.report.show import counted, cut, one_line, score, whole

_SCROLLS_FROM = 25  # versions; more of them scroll in a box of their own
_HEAD = ("", "Version", "Val mean", "Val measured", "Proposed at call", "What changed")
_MARKS = {"start": "○ start", "best": "★ best", "rejected": "✗ rejected on test"}


def lineage_section(report: Mapping[str, Any]) -> Markup | None:
    """Return the section of all versions, children under the one they came from. None when there are no versions."""
    versions = report.get("versions") or []
    if not versions:
        return None
    best, title = challenger(report)
    rows = lay_out(versions, best)
    lanes = 1 + max(row.lane for row in rows)
    goal = next((row.number for row in rows if row.version.get("id") == best), None)
    told = f"{counted(len(versions), 'version')}; each stands under the one it came from. "
    told += f"The strong line leads from the start to the {title.lower()} version. "
    jump = tag("a", f"Go to v{goal}", href=f"#v{goal}") if goal else None
    scrolls = len(rows) > _SCROLLS_FROM
    box = tag(
        "div",
        tag(
            "table",
            tag("caption", "Versions and where they came from", class_="hidden"),
            tag("thead", tag("tr", *(_head(name) for name in _HEAD))),
            tag("tbody", *(_row(row, lanes) for row in rows)),
            class_="lineage",
        ),
        class_="box" if scrolls else None,
        role="region" if scrolls else None,
        aria_label="Versions" if scrolls else None,
        tabindex=0 if scrolls else None,
    )
    return section("versions", "Versions", tag("p", told, jump, class_="quiet"), box, _rejections(report))


def _head(name: str) -> Markup:
    return tag("th", name, scope="col") if name else tag("td")


def _row(row: LineageRow, lanes: int) -> Markup:
    version = row.version
    status = str(version.get("status"))
    came = f" · from v{row.parent}" if row.parent is not None else " · no parent" if row.number else ""
    name = tag(
        "th",
        tag("b", f"v{row.number}"),
        tag("span", _MARKS[status], class_=f"badge {status}") if status in _MARKS else None,
        tag("span", tag("span", one_line(str(version.get("id")), 40), class_="mono"), came, class_="split"),
        tag("span", one_line(str(version["reason"]), 200), class_="split") if version.get("reason") else None,
        scope="row",
    )
    note = str(version.get("note") or "")
    return tag(
        "tr",
        tag("td", rails(row, lanes), class_="graph", style=f"min-width:{rails_width(lanes) + 10}px"),
        name,
        tag("td", tag("b", score(version.get("val"))), data_label="val mean"),
        tag("td", covered(version.get("coverage")), data_label="val measured"),
        tag("td", whole(version.get("at_call")), data_label="proposed at call"),
        tag("td", long_text(note, "whole note") if note else None, _content(version), class_="note"),
        id=f"v{row.number}",
    )


def _content(version: Mapping[str, Any]) -> Markup | None:
    text = version.get("text")
    if not text:
        return None
    scores = ", ".join(f"{one_line(name, 60)} {score(value)}" for name, value in (version.get("scores") or {}).items())
    return tag(
        "details",
        tag("summary", f"Text, {len(str(text)):,} characters"),
        tag("p", scores, class_="quiet") if scores else None,
        tag("pre", cut(str(text), 20_000), class_="content", dir="auto"),
        class_="content",
    )


def _rejections(report: Mapping[str, Any]) -> Markup | None:
    rejections = report.get("rejections") or []
    if not rejections:
        return None
    total = sum(one.get("count") or 0 for one in rejections)
    rows = [(long_text(str(one.get("reason")), "whole reason"), whole(one.get("count"))) for one in rejections]
    last = [
        (
            whole(one.get("at_call")),
            tag("span", one_line(str(one.get("version")), 40), class_="mono"),
            long_text(str(one.get("reason")), "whole reason"),
        )
        for one in report.get("last_rejections") or []
    ]
    return tag(
        "details",
        tag("summary", f"{counted(total, 'proposal')} turned down without an evaluation"),
        table(("Reason", "Count"), rows, numeric=(1,)),
        join([tag("h3", "The last ones"), table(("At call", "Id", "Reason"), last)]) if last else None,
        class_="rest",
    )
