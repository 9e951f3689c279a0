"""The reviews of the template, labelled by the embedded model: a whole run of each engine, judged on test."""

from __future__ import annotations

import shutil
from pathlib import Path

import skynet.cli
from skynet.runs.session import Given, run_project
from skynet.spec import load_spec
from tests.engines.host import ScriptedModels, failing
from tests.engines.rules import labelled_task

from .bench import Row, engines

TEMPLATE = Path(skynet.cli.__file__).parent / "templates" / "reviews"
NAME = "reviews (embedded model)"
BUDGET = 400


def measure_reviews(folder: Path) -> list[Row]:
    """Run every engine that needs no reflection model, since there is none."""
    task_model_only = ScriptedModels(failing("no model is needed"), roles=frozenset({"task"}))
    rows: list[Row] = []
    for name, engine in engines().items():
        reason = engine.applies(labelled_task(), task_model_only, engine.Options())
        rows.append(Row(NAME, BUDGET, name, reason=reason) if reason else _row(folder / name, name))
    return rows


def _row(folder: Path, name: str) -> Row:
    shutil.copytree(TEMPLATE, folder)
    tables = {"engine": {"name": name, "labels": True}, "budget": {"metric_calls": BUDGET}}
    result = run_project(load_spec(folder, tables), Given(accept=True, tables=tables))
    data = result.data
    assert data["error"] is None, data["error"]
    score, start = data["best"]["test"], data["baseline"]["test"]
    return Row(NAME, BUDGET, name, score, start, data["budget"]["metric_calls"]["used"])
