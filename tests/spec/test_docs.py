"""Every TOML block of docs/data.md and docs/eval.md is read as a spec."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from skynet.spec import parse_spec

DOCS = Path(__file__).parent.parent.parent / "docs"
BLOCKS = [
    pytest.param(block, id=f"{name}-{number}")
    for name in ("data.md", "eval.md")
    for number, block in enumerate(re.findall(r"```toml\n(.*?)```", (DOCS / name).read_text("utf-8"), re.DOTALL))
]


@pytest.mark.parametrize("block", BLOCKS)
def test_a_block_is_a_spec(tmp_path: Path, block: str) -> None:
    for name in ("tickets.csv", "answers.jsonl", "metric.py"):
        (tmp_path / name).touch()
    (tmp_path / "folder").mkdir()
    spec = parse_spec(tomllib.loads(block), tmp_path, code=("artifact.path",))
    assert spec.data is not None
