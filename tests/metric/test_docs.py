"""Every Python block of docs/metric.md runs, and every row of its table of refusals is true."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from skynet.metric.context import Observation
from skynet.metric.contract import BadReturn, Scored, Unmeasured, validate
from skynet.metric.load import load_metric
from tests.metric.calls import call

TEXT = (Path(__file__).parents[2] / "docs" / "metric.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
METRICS = [block for block in BLOCKS if "def score(" in block]
AFTER_RETURNS = TEXT.partition("**Metric return value**")[2]
REFUSALS = re.findall(r"^\| `(.+)` \| ((?:There|The|A|`score`) .+) \|$", AFTER_RETURNS, re.MULTILINE)

# For each metric in the page's order: input, output, expected, the model's reply, and the score (None: unmeasured).
RUNS: list[tuple[Any, Any, Any, str, float | None]] = [
    ({"message": "Where is it?"}, "shipping", {"team": "shipping"}, "", 1.0),
    ({}, '{"a": 1}', {"fields": ["a", "b"]}, "", 0.75),
    ({}, "Paris", None, "", None),
    ({"question": "Capital?"}, "Paris", None, "It names the city.\nPASS", 1.0),
    ({"question": "Capital?"}, "Paris", None, '{"correct": true, "reason": "It is."}', 1.0),
    ({}, "shipping", {"team": "shipping"}, "", 0.8),
    ({}, "shipping", None, "", 1.0),
]


@pytest.mark.parametrize(("block", "values"), list(zip(METRICS, RUNS, strict=True)), ids=range(len(RUNS)))
def test_a_metric_of_the_page_gives_its_score(
    block: str, values: tuple[Any, Any, Any, str, float | None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    input, output, expected, reply, score = values
    monkeypatch.setattr(sys, "path", list(sys.path))
    path = tmp_path / "metric.py"
    path.write_text(block, encoding="utf-8")
    loaded = load_metric(path)
    with call(reply, observation=Observation(500.0, 0.002, 1)):
        result = validate(loaded.style.call(loaded.score, input, output, expected))
    if score is None:
        assert isinstance(result, Unmeasured)
    else:
        assert isinstance(result, Scored)
        assert result.score == pytest.approx(score)


@pytest.mark.parametrize("block", [block for block in BLOCKS if block not in METRICS])
def test_a_block_of_assertions_holds(block: str) -> None:
    assert "assert " in block
    exec(compile(block, "docs/metric.md", "exec"), {})


def test_the_table_of_refusals_is_found() -> None:
    assert len(REFUSALS) == 7


@pytest.mark.parametrize(("returned", "said"), REFUSALS)
def test_a_return_of_the_table_is_refused_in_the_tables_words(returned: str, said: str) -> None:
    with pytest.raises(BadReturn, match=re.escape(said)):
        validate(eval(returned))
