"""A metric stored in the folder `metrics` is named, not spelt out as a path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from skynet.spec import SpecError, parse_spec


def spec(root: Path, metric: dict[str, Any]) -> Any:
    (root / "run.py").write_text("def run(artifact, input): return artifact")
    return parse_spec({"objective": "x", "target": {"kind": "python", "path": "run.py"}, "metric": metric}, root)


@pytest.mark.parametrize("ending", [".yaml", ".yml", ".py"])
def test_a_name_stands_for_the_file_of_that_name(tmp_path: Path, ending: str) -> None:
    (tmp_path / "metrics").mkdir()
    (tmp_path / "metrics" / f"tone{ending}").write_text("")
    assert spec(tmp_path, {"name": "tone"}).metric.path == f"metrics/tone{ending}"


def test_a_name_without_a_file_is_told_with_the_nearest_one(tmp_path: Path) -> None:
    (tmp_path / "metrics").mkdir()
    (tmp_path / "metrics" / "tone.yaml").write_text("")
    with pytest.raises(SpecError, match=r"metrics/tome.yaml.*tone\.yaml"):
        spec(tmp_path, {"name": "tome"})


def test_a_name_and_a_path_are_one_too_many(tmp_path: Path) -> None:
    (tmp_path / "metric.py").write_text("")
    with pytest.raises(SpecError, match="keep one of the two"):
        spec(tmp_path, {"name": "tone", "path": "metric.py"})
