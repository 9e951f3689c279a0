"""The report of a run: strict JSON for programs, Markdown for terminals and reviews, one HTML page for people."""

from __future__ import annotations

from skynet.runs.report.html import render_html
from skynet.runs.report.markdown import render_markdown
from skynet.runs.report.write import strict_json, write_report

__all__ = ["render_html", "render_markdown", "strict_json", "write_report"]
