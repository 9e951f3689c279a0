from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import skynet
from tests.loopback import ModelServer, status
from tests.projects import model, write_project


@pytest.fixture
def server() -> Iterator[ModelServer]:
    server = ModelServer("ok")
    yield server
    server.close()


@pytest.fixture
def project(tmp_path: Path, server: ModelServer) -> Path:
    return write_project(tmp_path / "p", more=model(server.url, "task"))


def finding(told: Any, name: str) -> Any:
    return next(one for one in told["findings"] if one["name"] == name)


def test_without_consent_no_model_is_called_and_the_cost_is_shown(project: Path, server: ModelServer) -> None:
    told = skynet("doctor", project, "--json").json
    found = finding(told, "model openai/loopback")
    assert server.requests == []
    assert found["status"] == "note"
    assert found["message"].startswith("not called: one tiny call, it costs at most $0.00")
    assert found["repair"] == "skynet doctor --yes calls it"


def test_with_consent_each_model_is_called_once(project: Path, server: ModelServer) -> None:
    done = skynet("doctor", project, "--yes")
    assert done.status == 0
    assert len(server.requests) == 1
    assert "ok    model openai/loopback: answered in" in done.out


def test_a_model_that_does_not_answer_is_a_failure_with_its_repair(project: Path, server: ModelServer) -> None:
    server.fail_always(status(401, "no such key"))
    done = skynet("doctor", project, "--yes")
    assert done.status == 1
    assert "FAIL  model openai/loopback:" in done.out
    assert "no such key" in done.out
    assert "Repair: mend its entry under [models]" in done.out


@pytest.mark.parametrize(
    ("engine", "status", "said"),
    [
        ('"gepa"', "ok", "gepa, with valid options"),
        ('"gepaa"', "failed", "Did you mean 'gepa'?"),
        ('{ name = "gepa", max_merge = 1 }', "failed", "Did you mean 'max_merges'?"),
    ],
)
def test_the_engines_name_and_options_are_looked_at(project: Path, engine: str, status: str, said: str) -> None:
    file = project / "skynet.toml"
    file.write_text(f"engine = {engine}\n{file.read_text()}")
    found = finding(skynet("doctor", project, "--json").json, "engine")
    assert (found["status"], said in found["message"]) == (status, True)
    assert bool(found["repair"]) == (status == "failed")


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    done = skynet("doctor", tmp_path / "nowhere")
    assert (done.status, done.out) == (2, "")
    assert "there is no folder" in done.err


def test_a_broken_spec_is_a_finding_and_the_rest_is_still_looked_at(project: Path) -> None:
    (project / "skynet.toml").write_text("objectiv = 1")
    told = skynet("doctor", project, "--json").json
    assert not told["ok"]
    assert "Did you mean 'objective'" in finding(told, "project")["message"]
    assert finding(told, "disk")["status"] in ("ok", "warning")


def test_a_folder_without_a_project_is_no_failure(tmp_path: Path) -> None:
    done = skynet("doctor", tmp_path)
    assert done.status == 0
    assert "note  project: no skynet.toml" in done.out


def test_a_project_that_only_evaluates_is_valid_without_a_target(project: Path) -> None:
    job = '[data]\npath = "rows.jsonl"\ninputs = ["text"]\n[eval]\noutput = "a"\nmetrics = { m = { type = "f1" } }\n'
    (project / "skynet.toml").write_text(job)
    assert finding(skynet("doctor", project, "--json").json, "project")["status"] == "ok"
    (project / "skynet.toml").write_text(job.partition("[eval]")[0])
    assert "target.kind: is missing" in finding(skynet("doctor", project, "--json").json, "project")["message"]
