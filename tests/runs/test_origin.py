"""A spec as it is kept in a run's row, and read again like a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from skynet.artifact import Artifact
from skynet.runs.origin import Origin, as_written
from skynet.spec import ModelSpec, parse_spec
from tests.projects import write_project

FILES = ["artifact.path", "metric.path", "data.path", "target.path"]
SPECS: list[dict[str, Any]] = [
    {"target": {"kind": "chat", "choices": ["a", "b"]}, "engine": "gepa", "budget": {"usd": 1.5}},
    {"engine": {"name": "best_of_n", "n": 4, "labels": True}},
    {"artifact": {"kind": "code", "entry": "price"}},
    {"data": {"inputs": ["a"], "split": {"train": 0.6, "val": 0.3, "test": 0.1}, "path": "x.csv"}},
    {"data": {"inputs": ["a"], "split": {"train": 1.0}, "path": "x.csv"}},
    {"data": {"inputs": ["a"], "split": {"train": 6, "test": 1}, "path": "x.csv"}},
    {"data": {"inputs": ["a"], "split": {"column": "part"}, "path": "x.csv"}},
    {"models": {"task": {"name": "openai/x", "price": {"input": 0.1, "output": 0.4}, "params": {"temperature": 0.5}}}},
    {"metric": {"path": "score", "name": None}, "limits": {"memory": "1 GiB"}, "evaluation": {"repeats": 2}},
    {"target": {"kind": "http", "url": "http://127.0.0.1:1/", "headers": {"A": "${KEY}"}}},
]


@pytest.mark.parametrize("tables", SPECS, ids=lambda tables: next(iter(tables)))
def test_a_spec_comes_back_as_it_was(tables: dict[str, Any], tmp_path: Path) -> None:
    spec = parse_spec({"objective": "Do it.", **tables}, tmp_path, code=FILES)
    stored = json.loads(json.dumps(Origin(spec=as_written(spec)).to_json()))
    assert Origin.from_json(stored).spec_in(tmp_path, code=FILES) == spec


def test_a_file_is_read_again_under_its_tables(tmp_path: Path) -> None:
    folder = write_project(tmp_path)
    origin = Origin.from_json(json.loads(json.dumps(Origin({"models": {"task": ModelSpec(name="a/b")}}).to_json())))
    (folder / "skynet.toml").write_text((folder / "skynet.toml").read_text().replace("Sort the texts.", "Sort them."))
    spec = origin.spec_in(folder, {"budget": {"metric_calls": 3}})
    assert spec.models.task is not None
    assert (spec.objective, spec.models.task.name, spec.budget.metric_calls) == ("Sort them.", "a/b", 3)


def test_a_start_without_a_file_is_kept(tmp_path: Path) -> None:
    origin = Origin({}, {"target": {"kind": "chat"}}, Artifact("parts", {"system": "A."}), ("metric",))
    again = Origin.from_json(json.loads(json.dumps(origin.to_json())))
    assert again == origin
    assert again.spec_in(tmp_path, code=["metric.path"]).artifact.path is None


def test_a_row_of_a_plain_run_has_no_origin_beside_its_file() -> None:
    assert Origin.from_json({"plan": {}}) == Origin()
