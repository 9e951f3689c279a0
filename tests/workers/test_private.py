from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests import plain_user

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems have no /proc to close")

HOLDER = """
import sys
from skynet.workers.private import close_process, closed_process

blocks = []
for line in sys.stdin:
    order = line.strip()
    if order == "enter":
        blocks.append(closed_process())
        blocks[-1].__enter__()
    elif order == "leave":
        blocks.pop(0).__exit__(None, None, None)
    elif order == "close":
        close_process()
    elif order == "start":
        import subprocess
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        print(child.pid, flush=True)
        continue
    print("done", flush=True)
"""
READER = """
import os, sys
for name in ("environ", "cwd", "fd/0", "maps"):
    path = f"/proc/{sys.argv[1]}/{name}"
    try:
        told = os.readlink(path) if name in ("cwd", "fd/0") else open(path).read(10)
        print(name, "open")
    except PermissionError:
        print(name, "closed")
"""
OPEN, CLOSED = (dict.fromkeys(("environ", "cwd", "fd/0", "maps"), state) for state in ("open", "closed"))


@pytest.fixture
def holder() -> Iterator[subprocess.Popen[str]]:
    process = plain_user.start([sys.executable, "-c", HOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    yield process
    process.communicate()


def order(process: subprocess.Popen[str], word: str) -> str:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(word + "\n")
    process.stdin.flush()
    return process.stdout.readline().strip()


def seen(pid: int) -> dict[str, str]:
    """Return what another process of the same user may read of this one."""
    reader = plain_user.start([sys.executable, "-c", READER, str(pid)], stdout=subprocess.PIPE)
    told, _ = reader.communicate()
    return dict(line.split() for line in told.splitlines())


def test_a_closed_process_shows_neither_its_environment_nor_its_memory_to_its_user(
    holder: subprocess.Popen[str],
) -> None:
    order(holder, "nothing")
    assert seen(holder.pid) == OPEN
    order(holder, "close")
    assert seen(holder.pid) == CLOSED


def test_it_is_open_again_after_the_last_of_several_blocks(holder: subprocess.Popen[str]) -> None:
    for word, state in (("enter", CLOSED), ("enter", CLOSED), ("leave", CLOSED), ("leave", OPEN)):
        assert order(holder, word) == "done"
        assert seen(holder.pid) == state, word


def test_a_program_that_it_starts_is_open(holder: subprocess.Popen[str]) -> None:
    order(holder, "close")
    assert seen(int(order(holder, "start"))) == OPEN
