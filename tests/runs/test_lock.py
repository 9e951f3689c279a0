from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from skynet.runs.lock import RunDriven, RunLock, driver_pid, is_driven, lock_path
from tests.runs.processes import ROOT, start

DRIVER = "lock = RunLock(path, 'r1')\nprint('driving', flush=True)\nsys.stdin.readline()\n"


def driving(folder: Path) -> subprocess.Popen[str]:
    process = start(DRIVER, folder)
    assert process.stdout is not None
    assert process.stdout.readline() == "driving\n"
    return process


def test_a_run_without_a_lock_file_is_not_driven(tmp_path: Path) -> None:
    assert not is_driven(tmp_path, "r1")
    assert driver_pid(tmp_path, "r1") is None


def test_a_run_is_driven_while_its_lock_is_held(tmp_path: Path) -> None:
    with RunLock(tmp_path, "r1"):
        assert is_driven(tmp_path, "r1")
        assert not is_driven(tmp_path, "r2")
    assert not is_driven(tmp_path, "r1")


def test_two_processes_cannot_drive_one_run_and_the_error_names_the_driver(tmp_path: Path) -> None:
    process = driving(tmp_path)
    assert driver_pid(tmp_path, "r1") == process.pid
    with pytest.raises(RunDriven, match=f"run r1 is driven by process {process.pid}; follow it with"):
        RunLock(tmp_path, "r1")
    process.communicate("done\n")
    RunLock(tmp_path, "r1").release()


def test_a_killed_driver_frees_its_run_at_once(tmp_path: Path) -> None:
    process = driving(tmp_path)
    process.kill()
    process.communicate()
    assert not is_driven(tmp_path, "r1")
    assert driver_pid(tmp_path, "r1") is None
    RunLock(tmp_path, "r1").release()


WITH_CHILD = """
import subprocess
lock = RunLock(path, 'r1')
child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'], close_fds=False)
print(child.pid, flush=True)
sys.stdin.readline()
"""


def test_a_program_that_the_driver_started_does_not_keep_the_lock_after_its_death(tmp_path: Path) -> None:
    process = start(WITH_CHILD, tmp_path)
    assert process.stdout is not None
    child = int(process.stdout.readline())
    process.kill()
    process.wait()
    try:
        os.kill(child, 0)
        RunLock(tmp_path, "r1").release()
    finally:
        os.kill(child, signal.SIGKILL)


def test_looking_at_a_lock_never_keeps_a_driver_out(tmp_path: Path) -> None:
    RunLock(tmp_path, "r1").release()
    stop = threading.Event()

    def look() -> None:
        while not stop.is_set():
            is_driven(tmp_path, "r1")

    lookers = [threading.Thread(target=look) for _ in range(3)]
    for looker in lookers:
        looker.start()
    try:
        for _ in range(100):
            RunLock(tmp_path, "r1").release()
    finally:
        stop.set()
        for looker in lookers:
            looker.join()


def test_removing_takes_the_file_away_and_a_second_release_does_nothing(tmp_path: Path) -> None:
    lock = RunLock(tmp_path, "r1")
    lock.release(remove=True)
    lock.release()
    assert not lock_path(tmp_path, "r1").exists()


def test_the_lock_and_the_budget_do_not_load_the_database_library() -> None:
    source = "import sys, skynet.runs.lock, skynet.evaluation.budget; print('sqlalchemy' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", source], cwd=ROOT, text=True, capture_output=True, check=True).stdout
    assert out == "False\n"
