"""Every Python block of docs/judges.md is a judge, and what the page says of its options is true."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import Any

import pytest

from skynet.cli.judge import calibrate
from skynet.metric.contract import Scored, validate
from skynet.scorers import judge
from tests.metric.calls import call

PAGE = (Path(__file__).parents[2] / "docs" / "judges.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
REPLIES: list[tuple[dict[str, Any], float]] = [
    ({"reason": "It answers.", "choice": "pass"}, 1.0),
    ({"reason": "One is wrong.", "choice": "mostly"}, 0.5),
    ({"reason": "Short.", "score": 7, "polite": True}, 7.0),
]


@pytest.mark.parametrize(("block", "reply"), list(zip(BLOCKS, REPLIES, strict=True)), ids=range(len(REPLIES)))
def test_a_judge_of_the_page_scores_a_case(block: str, reply: tuple[dict[str, Any], float]) -> None:
    names: dict[str, Any] = {}
    exec(compile(block, "docs/judges.md", "exec"), names)
    with call(json.dumps(reply[0])):
        found = validate(names["score"]({"message": "Where is it?"}, "On its way.", None))
    assert isinstance(found, Scored)
    assert found.score == reply[1]


def test_the_page_names_every_option_of_judge() -> None:
    options = [name for name, one in inspect.signature(judge).parameters.items() if one.kind is one.KEYWORD_ONLY]
    assert [name for name in options if f"`{name}" not in PAGE] == []


def test_the_page_names_every_option_of_calibrate() -> None:
    options = [f"--{name.removesuffix('s')}" for name in inspect.signature(calibrate).parameters]
    options = [name for name in options if name not in ("--file", "--directory", "--as_json")]
    assert [name for name in options if name not in PAGE] == []
