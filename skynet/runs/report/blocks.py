"""The smaller sections of the page: figures, costs, check stages, data, demonstrations, diff."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from skynet.runs.report.elements import Markup, join, table, tag
from skynet.runs.report.figures import Figure, budget_lines
from skynet.runs.report.show import NOTHING, cut, one_line, spent, whole
from skynet.runs.report.words import stage_place

_SHORT_CHARS = 220
_SHORT_LINES = 5
_STAGE_MARKS = {"passed": "✓", "warning": "!", "failed": "✗", "skipped": NOTHING, "pending": "…"}


def section(key: str, title: str, *children: str | None) -> Markup:
    """Return a section of the page under a heading that its navigation can name."""
    return tag("section", tag("h2", title, id=f"{key}-heading"), *children, id=key, aria_labelledby=f"{key}-heading")


def long_text(text: str, label: str, class_: str = "text") -> Markup:
    """Return a user's text in its own direction; a long one is folded behind its beginning."""
    if len(text) <= _SHORT_CHARS and text.count("\n") < _SHORT_LINES:
        return tag("div", text, class_=class_, dir="auto")
    return tag(
        "details",
        tag(
            "summary",
            tag("span", one_line(text, 140), dir="auto", class_="beginning"),
            tag("span", f"{label}, {len(text):,} characters", class_="size"),
        ),
        tag("div", cut(text), class_=class_, dir="auto"),
        class_=f"long {class_}",
    )


def bullets(items: Iterable[str], class_: str) -> Markup:
    """Return the texts as a list."""
    return tag("ul", *(tag("li", long_text(item, "whole text")) for item in items), class_=class_)


def figure_table(figures: Sequence[Figure], names: tuple[str, str]) -> Markup:
    """Return start and best side by side, one figure per row."""
    rows = [(figure.name, figure.start, figure.best, figure.change) for figure in figures]
    return table(("", *names, "Change"), rows, numeric=(1, 2, 3), class_="figures")


def diff_block(text: str) -> Markup:
    """Return a unified diff line by line; the marks + and - stay, so that it reads without colour."""
    kinds = {"+": "add", "-": "del", "@": "hunk"}
    lines = text.split("\n")
    shown = [tag("span", line or " ", class_=_diff_kind(line, kinds), dir="auto") for line in lines]
    return tag("pre", tag("code", *shown), class_="diff", tabindex=0, aria_label="Unified diff of start and best")


def demonstration_list(demonstrations: Sequence[str]) -> Markup:
    """Return the demonstrations in their order."""
    return tag("ol", *(tag("li", long_text(str(one), "whole demonstration")) for one in demonstrations), class_="demos")


def budget_table(budget: Mapping[str, Mapping[str, Any]]) -> Markup | None:
    """Return what was used of each budget, as figures and as a bar; None when nothing is known."""
    rows = []
    for line in budget_lines(budget):
        bar = tag("span", tag("span", style=f"width:{100 * (line.share or 0):.1f}%"), class_="bar", aria_hidden="true")
        told = NOTHING if line.share is None else join([bar, f" {100 * line.share:.0f} %"])
        rows.append((line.name, line.used, line.limit, told))
    return table(("Budget", "Used", "Limit", "Share"), rows, numeric=(1, 2), class_="budget") if rows else None


def ledger_table(ledger: Sequence[Mapping[str, Any]]) -> Markup:
    """Return calls, tokens and dollars by role and model."""
    rows = [
        (
            one_line(str(entry.get("role")), 40),
            tag("span", one_line(str(entry.get("model")), 100), class_="mono"),
            whole(entry.get("calls")),
            whole(entry.get("prompt_tokens")),
            whole(entry.get("completion_tokens")),
            spent(entry.get("usd"), lower_bound=False),
        )
        for entry in ledger
    ]
    head = ("Role", "Model", "Calls", "Prompt tokens", "Completion tokens", "Cost")
    return table(head, rows, numeric=(2, 3, 4, 5), class_="stack ledger")


def stage_list(stages: Sequence[Mapping[str, Any]]) -> Markup:
    """Return the check's stages with mark, status word and message."""
    items = []
    for stage in stages:
        status = str(stage.get("status"))
        place = stage_place(stage)
        items.append(
            tag(
                "li",
                tag("span", _STAGE_MARKS.get(status, "?"), class_="mark", aria_hidden="true"),
                tag(
                    "span",
                    tag("b", one_line(str(stage.get("name")), 60)),
                    f" {status}",
                    f" · {place}" if place else None,
                ),
                long_text(str(stage["message"]), "whole message") if stage.get("message") else None,
                class_=f"stage {status}" if status in _STAGE_MARKS else "stage",
            )
        )
    return tag("ul", *items, class_="stages")


def _diff_kind(line: str, kinds: Mapping[str, str]) -> str | None:
    return "file" if line.startswith(("--- ", "+++ ")) else kinds.get(line[:1])
