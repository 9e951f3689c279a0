"""The report as Markdown: the same facts, short enough for a terminal or a review."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from skynet.runs.report.cases import CaseRow, Side, case_rows
from skynet.runs.report.figures import (
    CURVE_HEAD,
    budget_lines,
    challenger,
    covered,
    curve_rows,
    figures,
    figures_told,
    side_names,
    version_names,
)
from skynet.runs.report.lineage import lay_out
from skynet.runs.report.show import (
    NOTHING,
    counted,
    cut,
    duration,
    legible,
    moment,
    one_line,
    score,
    shown,
    signed,
    spent,
    whole,
)
from skynet.runs.report.words import finish_sentence, headline, notices, rejections_told, stage_place, times_seen

_CASES = 50  # changed cases in the table; the page has all of them
_CELL_CHARS = 120
_DIFF_CHARS = 20_000
# What Markdown or HTML could read as markup; at a line's start, lists and rules too; and what would become a link.
_SPECIAL = re.compile(r"[\\`*\[\]<>#|~&@]|(?<!\w)_|_(?!\w)|\$(?!\d)|:(?=//)|(?<=www)\.", re.IGNORECASE)
_OPENING = re.compile(r"^(\d*)([-+=.)])")


def render_markdown(report: Mapping[str, Any]) -> str:
    """Return the report in GitHub's Markdown. No string of it can become markup; UTF-8 can hold the result."""
    verdict = headline(report)
    error, ending = report.get("error"), finish_sentence(report)
    blocks = [
        f"# {_line(report.get('name') or 'Unnamed run', 200)}",
        _line(report.get("objective") or "", 600),
        f"**{_text(verdict.title)}.** {_text(verdict.sentence)}",
        f"How it ended: {_text(ending)}" if ending and verdict.tone != "failed" else "",
        _fenced(cut(str(error))) if error else "",
        _list(report.get("warnings") or [], "**Warning:** "),
        _list(report.get("data_warnings") or [], "**Data:** "),
        _list(notices(report), "Note: "),
        *_sections(report),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _sections(report: Mapping[str, Any]) -> list[str]:
    names = side_names(report)
    rows = [(one.name, one.start, one.best, one.change) for one in figures(report)]
    diff = str(report.get("diff") or "")
    demonstrations = [str(one) for one in report.get("demonstrations") or []]
    return [
        _section("Start and best", _joined(_table(("", *names, "Change"), rows), figures_told(report) if rows else "")),
        _section("Diff", _fenced(cut(diff, _DIFF_CHARS), "diff") if diff else ""),
        _section("Demonstrations in the best version", _list(demonstrations, "", 400)),
        _section("Score over budget", _curve(report)),
        _section("Versions", _versions(report)),
        _section("Proposals turned down", _rejections(report)),
        _section("Budget and cost", _budget(report)),
        _section("Contract check", _check(report)),
        _section("Data", _data(report)),
        _section("Cases", _cases(report, names)),
        _section("This run", _run(report)),
    ]


def _curve(report: Mapping[str, Any]) -> str:
    return _table(CURVE_HEAD, curve_rows(report))


def _versions(report: Mapping[str, Any]) -> str:
    names = version_names(report)
    rows = []
    for row in lay_out(report.get("versions") or [], challenger(report)[0]):
        version = row.version
        status, reason = version.get("status"), version.get("reason")
        rows.append(
            (
                f"v{row.number}",
                version.get("id"),
                names.get(str(version.get("parent")), NOTHING),
                f"{status}: {reason}" if reason else status,
                score(version.get("val")),
                covered(version.get("coverage")),
                whole(version.get("at_call")),
                version.get("note") or "",
            )
        )
    head = ("Version", "Id", "From", "Status", "Val mean", "Val measured", "Proposed at call", "What changed")
    return _table(head, rows, 200)


def _rejections(report: Mapping[str, Any]) -> str:
    last = [
        (whole(one.get("at_call")), one.get("version"), one.get("reason"))
        for one in report.get("last_rejections") or []
    ]
    table = _table(("At call", "Id", "Reason"), last, 200)
    return _joined(_text(rejections_told(report)), f"The last ones:\n\n{table}" if table else "")


def _budget(report: Mapping[str, Any]) -> str:
    used = [(line.name, line.used, line.limit) for line in budget_lines(report.get("budget") or {})]
    ledger = [
        (
            entry.get("role"),
            entry.get("model"),
            whole(entry.get("calls")),
            whole(entry.get("prompt_tokens")),
            whole(entry.get("completion_tokens")),
            spent(entry.get("usd"), lower_bound=False),
        )
        for entry in report.get("ledger") or []
    ]
    head = ("Role", "Model", "Calls", "Prompt tokens", "Completion tokens", "Cost")
    tables = [_table(("Budget", "Used", "Limit"), used), _table(head, ledger)]
    return _joined(*tables)


def _check(report: Mapping[str, Any]) -> str:
    stages = (report.get("check") or {}).get("stages") or []
    rows = [
        (stage.get("status"), stage.get("name"), stage_place(stage), stage.get("message") or "") for stage in stages
    ]
    return _table(("Status", "Stage", "Where", "Message"), rows, 400)


def _data(report: Mapping[str, Any]) -> str:
    sizes = report.get("split_sizes") or {}
    told = ", ".join(f"{name} {whole(sizes.get(name))}" for name in ("train", "val", "test"))
    return f"Cases: {told}. {times_seen(report)}".strip()


def _cases(report: Mapping[str, Any], names: tuple[str, str]) -> str:
    rows = case_rows(report)
    if not rows:
        return ""
    changed = [row for row in rows if row.changed]
    written = [
        (
            f"{row.case} ({row.split})",
            shown(row.input),
            shown(row.expected),
            _side(row.start),
            _side(row.best),
            _change(row),
        )
        for row in changed[:_CASES]
    ]
    left = len(changed) - len(written)
    told = f"{counted(len(rows) - len(changed), 'case')} with the same score and output."
    told += f" {counted(left, 'more changed case')} in report.html." if left else ""
    return _joined(_table(("Case", "Input", "Expected", *names, "Change"), written), told)


def _change(row: CaseRow) -> str:
    return row.outcome if not row.change else f"{signed(row.change)} {row.outcome}"


def _side(side: Side | None) -> str:
    if side is None:
        return "not run"
    standing = f"{side['failure']} failed" if side.get("failure") else score(side.get("score"))
    return f"{standing}: {one_line(shown(side.get('output')), 60)} / {side.get('error') or side.get('feedback') or ''}"


def _run(report: Mapping[str, Any]) -> str:
    engine = report.get("engine") or {}
    parts = {
        "Run": report.get("run"),
        "Status": report.get("status"),
        "Finish reason": report.get("finish_reason"),
        "Engine": " ".join(str(engine[key]) for key in ("name", "package", "version") if engine.get(key)),
        "Started": None if report.get("started_at") is None else moment(report["started_at"]),
        "Ended": None if report.get("ended_at") is None else moment(report["ended_at"]),
        "Time at work": None if report.get("seconds") is None else duration(report["seconds"]),
        "Skynet": report.get("skynet_version"),
    }
    return _list([f"{name}: {value}" for name, value in parts.items() if value])


def _joined(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)


def _section(title: str, body: str) -> str:
    return f"## {title}\n\n{body}" if body else ""


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]], limit: int = _CELL_CHARS) -> str:
    written = [f"| {' | '.join(_text(cell, limit) for cell in row)} |" for row in rows]
    if not written:
        return ""
    return "\n".join([f"| {' | '.join(_text(name) for name in head)} |", "|" + " --- |" * len(head), *written])


def _list(items: Iterable[Any], lead: str = "", limit: int = 1000) -> str:
    return "\n".join(f"- {lead}{_line(item, limit)}" for item in items)


def _line(value: Any, limit: int = 1000) -> str:
    """Return a value as a line of its own: as `_text`, and no list, heading or rule begins with it."""
    return _OPENING.sub(r"\1\\\2", _text(value, limit))


def _text(value: Any, limit: int = 1000) -> str:
    """Return a value on one line, every character that could be read as markup escaped."""
    return _SPECIAL.sub(r"\\\g<0>", legible(one_line(NOTHING if value is None else str(value), limit)))


def _fenced(text: str, language: str = "") -> str:
    """Return a block of code whose fence is longer than any that stands in the text."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{legible(text)}\n{fence}"
