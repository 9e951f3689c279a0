"""Every Python block of docs/scorers.md runs, and each that defines `score` scores a case."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from skynet.metric.contract import Scored, validate
from skynet.metric.signature import call_style
from skynet.scorers import SCORERS

PAGE = (Path(__file__).parent.parent.parent / "docs" / "scorers.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS)
def test_a_block_runs_and_its_metric_scores_a_case(block: str) -> None:
    names: dict[str, Any] = {}
    exec(compile(block, "docs/scorers.md", "exec"), names)
    if "score" in names:
        style = call_style(names["score"])
        checked = validate(style.call(names["score"], {"message": "hi"}, "billing", {"label": "billing"}))
        assert isinstance(checked, Scored)
        assert checked.score in (1.0, 100.0)


def test_the_page_has_a_row_for_every_scorer() -> None:
    assert re.findall(r"^\| `(\w+)\(", PAGE, flags=re.MULTILINE) == list(SCORERS)
