from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from skynet.artifact import Artifact, Content
from skynet.data.case import Case
from skynet.target.base import TargetResult, Ticket
from skynet.target.command import CommandTarget
from skynet.target.folder import PrivateFolder
from skynet.target.worker_calls import WorkerCalls
from skynet.workers.limits import worker_environment
from skynet.workers.pool import WorkerPool
from skynet.workers.process import WorkerSetup
from tests.target.conftest import MakeGateway

Run = Callable[..., TargetResult]
AGENT = """
import json, os, pathlib, subprocess, sys, time
artifact = pathlib.Path(sys.argv[1])
input = json.load(sys.stdin)
exec(input["code"])
"""
MakeTarget = Callable[..., CommandTarget]


@pytest.fixture
def make_target(tmp_path: Path, make_gateway: MakeGateway) -> Iterator[MakeTarget]:
    (tmp_path / "agent.py").write_text(AGENT)
    made: list[CommandTarget] = []

    def make(*argv: str, timeout: float = 10, files: dict[str, str] | None = None) -> CommandTarget:
        folder = PrivateFolder()
        config: dict[str, object] = {
            "folder": str(tmp_path), "private": str(folder.path), "file": "prompt.md",
            "argv": list(argv or (sys.executable, "agent.py", "{artifact}")),
        }  # fmt: skip
        environment = worker_environment({**os.environ, "OPENAI_API_KEY": "secret", "MODE": "fast"}, ["MODE"])
        entry = "skynet.evaluation.child_command:command_target"
        pool = WorkerPool(WorkerSetup(entry, tmp_path, config, (), environment))
        made.append(CommandTarget(WorkerCalls(pool, make_gateway(), timeout), folder, files or {}))
        return made[-1]

    yield make
    for target in made:
        target.close()


@pytest.fixture
def run(make_target: MakeTarget) -> Run:
    def call(code: str, content: Content = "Be kind.", **options: Any) -> TargetResult:
        artifact = Artifact("text" if isinstance(content, str) else "parts", content)
        ticket = Ticket(Case("1", {"code": code, "text": "ä\ud800"}, None, "", 1), artifact.id)
        return make_target(**options).run(artifact, ticket)

    return call


def test_the_artifact_is_a_file_the_input_stands_on_stdin_and_stdout_is_the_output(run: Run) -> None:
    result = run("print(artifact.name, artifact.read_text(), repr(input['text']), sep='|')")
    assert result.fault is None
    assert result.output == "prompt.md|Be kind.|'ä\\ud800'"
    assert result.elapsed_ms is not None
    assert result.cost_usd is None  # nobody reports what a program spends


def test_parts_are_files_in_a_folder_under_their_own_names(run: Run) -> None:
    code = "print(sorted((f.name, f.read_text()) for f in artifact.iterdir()))"
    result = run(code, {"system": "A", "user": "B"}, files={"system": "system.md", "user": "user.txt"})
    assert result.output == "[('system.md', 'A'), ('user.txt', 'B')]"


@pytest.mark.parametrize(("printed", "output"), [("'x\\n'", "x"), ("'x\\n\\n'", "x\n"), ("'x'", "x"), ("''", "")])
def test_one_line_break_at_the_end_is_no_part_of_the_output(printed: str, output: str, run: Run) -> None:
    assert run(f"sys.stdout.write({printed})").output == output


def test_an_exit_status_fails_the_case_with_what_was_printed(run: Run) -> None:
    result = run("print('half done'); print('no such tool', file=sys.stderr); sys.exit(3)")
    assert result.fault is not None
    assert str(result.fault).endswith("ended with exit status 3")
    assert result.stderr == "no such tool\n"
    assert result.stdout == "half done\n"


def test_a_signal_is_named(run: Run) -> None:
    result = run("os.kill(os.getpid(), 11)")
    assert "was ended by SIGSEGV" in str(result.fault)


def test_output_that_is_no_text_is_refused(run: Run) -> None:
    result = run("sys.stdout.buffer.write(b'ok \\xff')")
    assert result.fault is not None
    assert result.fault.kind == "bad_output"
    assert "stdout is not UTF-8 text (byte 3)" in str(result.fault)


def runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_on_a_timeout_the_whole_tree_is_killed_also_what_left_the_group(run: Run, tmp_path: Path) -> None:
    code = (
        f"child = subprocess.Popen(['sleep', '60'], start_new_session=True); "
        f"pathlib.Path({str(tmp_path / 'pid')!r}).write_text(str(child.pid)); time.sleep(60)"
    )
    result = run(code, timeout=1.5)
    assert result.fault is not None
    assert result.fault.kind == "timeout"
    pid = int((tmp_path / "pid").read_text())
    deadline = time.monotonic() + 5
    while runs(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not runs(pid)


def test_the_program_sees_the_variables_passed_on_and_no_key(run: Run, tmp_path: Path) -> None:
    result = run("print(os.environ.get('MODE'), os.environ.get('OPENAI_API_KEY'), os.getcwd())")
    assert result.output == f"fast None {tmp_path}"


@pytest.mark.parametrize(("program", "place"), [("no-such-agent", "on the PATH"), ("./agent", "in /")])
def test_a_missing_program_is_told_before_the_first_case(program: str, place: str, make_target: MakeTarget) -> None:
    result = make_target(program, "{artifact}").load()
    assert result is not None
    assert f"there is no executable program {program!r} {place}" in str(result.fault)


def test_a_program_that_is_there_is_ready(make_target: MakeTarget) -> None:
    assert make_target("cat", "{artifact}").load() is None


def test_the_place_of_the_artifact_may_stand_inside_an_argument(make_target: MakeTarget) -> None:
    target = make_target("sh", "-c", "cat > /dev/null; cat {artifact}; echo from ${0}", "x={artifact}")
    result = target.run(Artifact("text", "Hi "), Ticket(Case("1", {}, None, "", 1), "v"))
    assert result.output is not None
    assert result.output.startswith("Hi from x=/")
