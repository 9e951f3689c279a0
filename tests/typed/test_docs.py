from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from skynet.typed import as_score
from tests.typed.conftest import run

PAGE = Path(__file__).parent.parent.parent / "docs" / "typed.md"


def test_the_metric_of_the_page_runs_as_the_metric_of_a_run() -> None:
    [metric, *_] = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    names: dict[str, Any] = {}
    exec(metric, names)
    returned = run(as_score(names["Length"](), primary="words")({"q": 1}, "two words"))
    assert returned == (2.0, {"feedback": "length: words is 2, short is 1.", "scores": {"words": 2.0, "short": 1.0}})
