from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.text import Text

from skynet.cli.show import Hanging, stage_line
from skynet.evaluation.stages import Stage


def printed(renderable: object, width: int | None = None) -> list[str]:
    """Return the lines on a terminal of this width, or in a file without one."""
    terminal = width is not None
    console = Console(
        file=io.StringIO(), force_terminal=terminal, width=width, soft_wrap=not terminal, color_system=None
    )
    console.print(renderable)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def test_on_a_terminal_a_long_text_is_wrapped_in_its_own_column() -> None:
    lines = printed(Hanging(Text("head"), "some words that do not fit here\nnext", 8), 30)
    assert lines == ["head    some words that do not", "        fit here", "        next"]


def test_in_a_file_lines_stay_whole() -> None:
    assert printed(Hanging(Text("head"), "word " * 60 + "\nnext", 8)) == [
        "head    " + "word " * 59 + "word",
        "        next",
    ]


@pytest.mark.parametrize("width", [1, 10, 80])
def test_any_width_prints_every_word(width: int) -> None:
    shown = " ".join(" ".join(printed(Hanging(Text("head"), "some words\n\nnext", 8), width)).split())
    assert shown.replace(" ", "") == "headsomewordsnext"


def test_an_empty_text_leaves_no_white_space_behind() -> None:
    assert printed(Hanging(Text("head"), "", 8)) == ["head"]


def test_the_text_can_neither_colour_nor_mark_up_the_terminal() -> None:
    assert printed(Hanging(Text("head"), "[red]a[/red] \x1b[31m \ud800", 8), 80) == [
        "head    [red]a[/red] \\x1b[31m \\ud800"
    ]


@pytest.mark.parametrize(
    ("stage", "line"),
    [
        (Stage("Signal", "passed"), "ok   Signal"),
        (Stage("Signal", "warning", "careful"), "warn Signal              careful"),
        (
            Stage("Metric return value", "failed", "boo", case="3", file="/a/metric.py", line=7),
            "FAIL Metric return value case 3, metric.py, line 7: boo",
        ),
        (Stage("Metric file", "failed", file="/a/metric.py"), "FAIL Metric file         metric.py"),
        (Stage("Signal", "skipped", "not reached"), "skip Signal              not reached"),
        (Stage("Signal", "pending", case="3"), "wait Signal              case 3"),
    ],
)
def test_a_stage_is_one_line(stage: Stage, line: str) -> None:
    assert printed(stage_line(stage)) == [line]
