from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from skynet.scorers import ScorerError
from skynet.scorers.typed_check import referred_files, stored_metrics, typed_metric


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "metrics").mkdir()
    for name in ("polite.yaml", "short.py", "f1.yaml"):
        (tmp_path / "metrics" / name).write_text("checks: {a: {type: short}}")
    (tmp_path / "metric.py").touch()
    return tmp_path


def test_a_scorer_becomes_a_metric_with_its_options(folder: Path) -> None:
    metric = typed_metric("string_check", {"operation": "startswith", "reference": "{{ item.q }}"}, folder)
    assert not isinstance(metric, Path)
    assert metric({"q": "a"}, "ab", None)[0] == 1.0


@pytest.mark.parametrize(
    ("type", "options", "file"),
    [
        ("metric", {"path": "metric.py"}, "metric.py"),
        ("polite", {}, "metrics/polite.yaml"),
        ("short", {}, "metrics/short.py"),
    ],
)
def test_a_file_is_found_by_path_or_by_name(folder: Path, type: str, options: dict[str, Any], file: str) -> None:
    assert typed_metric(type, options, folder) == folder / file


@pytest.mark.parametrize(
    ("type", "options", "says"),
    [
        ("polit", {}, r"There is no scorer 'polit'.*Stored in metrics: short, f1, polite\. Did you mean 'polite'"),
        ("exact_mach", {}, "Did you mean 'exact_match'"),
        ("metric", {}, "path is None"),
        ("metric", {"pth": "x"}, "takes only path. Did you mean 'path'"),
        ("metric", {"path": "no.py"}, r"there is no file '.*no\.py'"),
        ("polite", {"a": 1}, r"polite is the file metrics/polite\.yaml and takes no options: a"),
        ("f1", {}, r"metrics/f1\.yaml has the name of a scorer; rename the file"),
        ("judge", {}, "a judge needs criteria"),
        ("judge", {"criteria": "x", "choises": 1}, "no option 'choises'.*Did you mean 'choices'"),
    ],
)
def test_what_stands_for_no_metric_is_refused(folder: Path, type: str, options: dict[str, Any], says: str) -> None:
    with pytest.raises(ScorerError, match=says):
        typed_metric(type, options, folder)


def test_a_file_in_metrics_sees_those_beside_it(folder: Path) -> None:
    assert stored_metrics(folder / "metrics") == stored_metrics(folder)
    assert referred_files(folder / "metrics" / "polite.yaml") == [folder / "metrics" / "short.py"]


def test_a_broken_file_refers_to_nothing(folder: Path) -> None:
    (folder / "metric.yaml").write_text("checks: [")
    assert referred_files(folder / "metric.yaml") == []
