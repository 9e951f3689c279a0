"""What a worker is given of the host: an allow-listed environment, and an import path nothing of the user leads."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from skynet.workers.limits import interpreter, worker_environment


def import_path(command: list[str]) -> list[str]:
    path: list[str] = json.loads(command[-1])
    return path


def test_the_hosts_working_folder_comes_last(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", "/library"])
    assert import_path(interpreter(Path("/project"))) == ["/library", str(tmp_path)]


def test_the_users_folder_is_left_out_under_any_of_its_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", str(tmp_path), f"{tmp_path}/.", "/library"])
    assert import_path(interpreter(tmp_path)) == ["/library"]


def test_the_environment_is_allow_listed() -> None:
    host = {"PATH": "/bin", "OPENAI_API_KEY": "sk-x", "LC_ALL": "C", "MINE": "1", "PYTHONPATH": "/evil"}
    given = worker_environment(host, ["MINE", "ABSENT"])
    assert {name: given.get(name) for name in host} == {
        "PATH": "/bin",
        "OPENAI_API_KEY": None,
        "LC_ALL": "C",
        "MINE": "1",
        "PYTHONPATH": None,
    }
    assert given["OMP_NUM_THREADS"] == "1"
    assert os.environ is not given
