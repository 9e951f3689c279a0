from __future__ import annotations

import os
from pathlib import Path

import pytest

from skynet.artifact import Artifact
from skynet.data.case import Case
from skynet.errors import SkynetError
from skynet.evaluation.case_run import ticket_for
from skynet.evaluation.given_cases import whole_dataset
from skynet.evaluation.project import Functions, Project
from skynet.spec import load_spec
from skynet.target.chat import ChatTarget
from tests.projects import CHAT, PYTHON, write_project


def opened(folder: Path, **options: object) -> Project:
    return Project(load_spec(folder), **options)  # type: ignore[arg-type]


def test_the_start_is_the_artifacts_text_without_a_byte_order_mark(tmp_path: Path) -> None:
    write_project(tmp_path)
    (tmp_path / "start.txt").write_bytes(b"\xef\xbb\xbfZeile \xc3\xbc\r\n")
    with opened(tmp_path) as project:
        assert project.start == Artifact("text", "Zeile ü\n")


def test_a_start_that_is_no_text_is_refused(tmp_path: Path) -> None:
    write_project(tmp_path)
    (tmp_path / "start.txt").write_bytes(b"ok\xff")
    with opened(tmp_path) as project, pytest.raises(SkynetError, match=r"start\.txt: not UTF-8 text \(byte 2\)"):
        assert project.start


def test_without_a_path_there_is_no_start_unless_one_is_given(tmp_path: Path) -> None:
    spec = write_project(tmp_path) / "skynet.toml"
    spec.write_text(spec.read_text().replace('path = "start.txt"', ""))
    with opened(tmp_path) as project:
        assert project.start is None
    with opened(tmp_path, start=Artifact("text", "given")) as project:
        assert project.start == Artifact("text", "given")


def test_the_target_is_what_the_spec_names(tmp_path: Path) -> None:
    with opened(write_project(tmp_path, target=CHAT)) as project:
        assert isinstance(project.target, ChatTarget)
        assert project.target_source is None


def test_given_functions_and_data_win(tmp_path: Path) -> None:
    data = whole_dataset([{"input": {"text": "x"}}], None)
    functions = Functions(metric=lambda i, o: (1, {"feedback": o}), target=lambda artifact, input: "from the function")
    with opened(write_project(tmp_path), functions=functions, dataset=data) as project:
        assert project.dataset is data
        record = project.runner.run(Artifact("text", "a"), data.train[0])
    assert (record.score, record.feedback) == (1.0, "from the function")


def test_the_seed_is_the_datas_and_zero_is_a_seed(tmp_path: Path) -> None:
    with opened(write_project(tmp_path)) as project:
        assert project.seed == 0
    spec = tmp_path / "skynet.toml"
    spec.write_text(spec.read_text().replace("[data]", "[data]\nseed = 7"))
    with opened(tmp_path) as project:
        assert project.seed == 7


def test_closing_ends_every_process_that_was_started(tmp_path: Path) -> None:
    metric = "import os\ndef score(input, output):\n    return os.getpid(), {'feedback': str(os.getppid())}\n"
    run = "import os\ndef run(artifact, input):\n    return [os.getpid(), os.getppid()]\n"
    with opened(write_project(tmp_path, metric, run)) as project:
        record = project.runner.run(Artifact("text", "a"), project.dataset.train[0])
    assert record.score is not None
    for pid in [*record.output, int(record.score), int(record.feedback)]:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_user_code_runs_in_the_folder_of_its_file_with_spaces_and_other_letters(tmp_path: Path) -> None:
    folder = tmp_path / "mein Projekt ü 日本"
    run = "import os, helper\ndef run(artifact, input):\n    return [os.getcwd(), open('start.txt').read(), helper.X]\n"
    write_project(folder, run=run, target=PYTHON, beside={"helper.py": "X = 'ü'"})
    with opened(folder) as project:
        ticket = ticket_for(0, "v", Case("1", {}, None, "", 1))
        assert project.target.run(Artifact("text", ""), ticket).output == [str(folder), "label 1", "ü"]


def test_a_project_of_read_only_files_is_run(tmp_path: Path) -> None:
    write_project(tmp_path)
    for path in tmp_path.iterdir():
        path.chmod(0o444)
    tmp_path.chmod(0o555)
    try:
        with opened(tmp_path) as project:
            assert project.runner.run(Artifact("text", "a"), project.dataset.train[0]).status == "ok"
        assert not list(tmp_path.glob("**/__pycache__"))
    finally:
        tmp_path.chmod(0o755)
