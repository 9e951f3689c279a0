"""How commands end: errors as messages, with --json as JSON on stdout, and pipes that nobody reads any more."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from skynet.cli.ending import FAILED, INTERRUPTED, status_of
from tests.cli.command import skynet
from tests.cli.conftest import Made
from tests.projects import write_project

REFUSED = {
    "runs list": ["runs", "list", "{nowhere}"],
    "runs show": ["runs", "show", "x", "{project}"],
    "versions": ["versions", "x", "{project}"],
    "eval": ["eval", "{project}"],
    "rescore": ["rescore", "x", "{project}"],
    "models list": ["models", "list", "{nowhere}"],
    "models test": ["models", "test", "{nowhere}"],
    "doctor": ["doctor", "{nowhere}"],
    "judge calibrate": ["judge", "calibrate", "{nowhere}"],
    "a wrong option": ["run", "{project}", "--metric-calls", "0"],
    "an unknown option": ["check", "--nonsense"],
    "a missing argument": ["runs", "show"],
}
WHOLE_OBJECTS = {
    "run": (["run", "{project}", "--engine", "gepaa"], "status"),
    "runs resume": (["runs", "resume", "x", "{project}"], "status"),
    "runs resume, amount": (["runs", "resume", "x", "{project}", "--add-budget", "x"], "status"),
    "demo": (["demo", "{project}"], "status"),
    "check": (["check", "{nowhere}"], "stages"),
}


def filled(words: list[str], folder: Path) -> list[str]:
    project = write_project(folder / "project")
    return [word.format(project=project, nowhere=folder / "nowhere") for word in words]


@pytest.mark.parametrize("words", REFUSED.values(), ids=REFUSED)
def test_a_refused_command_prints_its_error_as_json_and_as_text(tmp_path: Path, words: list[str]) -> None:
    done = skynet(*filled(words, tmp_path), "--json")
    assert done.status == 2
    assert list(done.json) == ["error"]
    assert f"Error: {done.json['error']}" in done.err


@pytest.mark.parametrize(("words", "key"), WHOLE_OBJECTS.values(), ids=WHOLE_OBJECTS)
def test_a_command_with_an_object_of_its_own_prints_it_also_when_refused(
    tmp_path: Path, words: list[str], key: str
) -> None:
    done = skynet(*filled(words, tmp_path), "--json")
    assert done.status == 2
    assert key in done.json
    assert f"Error: {done.json['error']}" in done.err


def test_without_json_a_refusal_leaves_stdout_empty(tmp_path: Path) -> None:
    done = skynet("versions", "x", write_project(tmp_path))
    assert (done.status, done.out) == (2, "")


@pytest.mark.parametrize("as_json", [True, False])
def test_a_file_that_cannot_be_written_is_a_message(made: Made, tmp_path: Path, as_json: bool) -> None:
    (tmp_path / "file").write_text("")
    words = ["rescore", made.result.run, made.folder, "-o", tmp_path / "file" / "under"]
    done = skynet(*words, *(["--json"] if as_json else []))
    assert done.status == FAILED
    assert "Not a directory" in done.err
    assert "Traceback" not in done.err
    if as_json:
        assert "Not a directory" in done.json["error"]


def test_an_error_of_the_system_that_names_no_file_is_not_hidden() -> None:
    def broken() -> None:
        raise OSError(5, "Input/output error")

    with pytest.raises(OSError, match="Input/output"):
        status_of(broken, as_json=False)


def test_a_broken_pipe_that_is_not_our_stdout_is_not_hidden() -> None:
    def broken() -> None:
        raise BrokenPipeError(32, "Broken pipe")

    with pytest.raises(BrokenPipeError):
        status_of(broken, as_json=False)


def test_a_question_that_is_answered_by_ctrl_c_ends_as_interrupted() -> None:
    def asked() -> None:
        raise typer.Abort

    assert status_of(asked, as_json=False) == INTERRUPTED


@pytest.mark.parametrize("words", [["engines"], ["scorers", "--json"], ["--help"], ["--version"], ["doctor", "."]])
def test_a_pipe_that_nobody_reads_ends_a_command_without_noise(tmp_path: Path, words: list[str]) -> None:
    reads, writes = os.pipe()
    os.close(reads)
    command = [sys.executable, "-m", "skynet.cli.main", *words]
    with os.fdopen(writes, "wb") as out:
        done = subprocess.run(command, stdout=out, stderr=subprocess.PIPE, cwd=tmp_path, check=False)
    assert (done.returncode, done.stderr) == (FAILED, b"")
