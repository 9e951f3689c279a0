"""How the commands print: JSON for programs; tables, and the lines of a check, for people."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skynet.evaluation.display import json_ready, printable

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.text import Text

    from skynet.evaluation.stages import Stage

_MARKS = {"passed": "ok", "warning": "warn", "failed": "FAIL", "skipped": "skip", "pending": "wait"}
_STYLES = {"passed": "green", "warning": "yellow", "failed": "bold red", "skipped": "dim", "pending": "cyan"}
_INDENT = 25
_WIDEST = 10_000  # columns of a table that no terminal limits
_WIDEST_TEXT = 100  # columns of a paragraph, however wide the terminal
_NARROWEST = 20  # columns of text, however narrow the terminal


class Hanging:
    """A head and a text beside it. On a terminal the text is wrapped in its own column; elsewhere lines stay whole."""

    def __init__(self, head: Text, text: str, indent: int) -> None:
        self._head = head
        self._text = printable(text)
        self._indent = indent

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        from rich.text import Text

        lines = [Text(part) for part in self._text.split("\n")]
        if console.is_terminal:
            width = max(options.max_width - self._indent, _NARROWEST)
            lines = [wrapped for line in lines for wrapped in line.wrap(console, width)]
        head = self._head.copy()
        for line in lines or [Text()]:
            head.append(" " * max(self._indent - head.cell_len, 1))
            head.append_text(line)
            head.rstrip()
            yield head
            head = Text()


def print_json(value: Any) -> None:
    """Print a value as strict JSON on stdout."""
    sys.stdout.write(json.dumps(json_ready(value), indent=2) + "\n")


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table without lines on stdout. On a terminal the last column is folded; elsewhere nothing is."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_edge=False)
    for name in columns:
        table.add_column(name, overflow="fold", no_wrap=name != columns[-1])
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    Console(highlight=False, width=None if sys.stdout.isatty() else _WIDEST).print(table)


def paragraph(text: str, indent: int, hanging: int) -> str:
    """Return the text in lines that fit the terminal, 80 columns where there is none: indented, then hanging."""
    width = min(shutil.get_terminal_size().columns, _WIDEST_TEXT)
    return textwrap.fill(
        printable(text),
        max(width, hanging + _NARROWEST),
        initial_indent=" " * indent,
        subsequent_indent=" " * hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )


def stage_line(stage: Stage) -> Hanging:
    """Return one stage of the contract check as a line: mark, name, where, message."""
    from rich.text import Text

    head = Text().append(f"{_MARKS[stage.status]:<5}", style=_STYLES[stage.status]).append(stage.name)
    where = _place(stage)
    message = f"{where}: {stage.message}" if where and stage.message else where or stage.message
    return Hanging(head, message, _INDENT)


def _place(stage: Stage) -> str:
    parts = [f"case {stage.case}" if stage.case is not None else ""]
    if stage.file:
        parts.append(f"{Path(stage.file).name}, line {stage.line}" if stage.line else Path(stage.file).name)
    return ", ".join(part for part in parts if part)
