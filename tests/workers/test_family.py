"""The host looks itself at what runs below a worker: what the worker says of it does not matter."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from skynet.workers.clock import CallClock
from skynet.workers.pool import WorkerPool
from tests.workers.conftest import Run, setup
from tests.workers.processes import alive

SAYS_NOTHING = "import skynet.workers.clean as clean\nclean.CleanState.left_behind = lambda self: ''\n"
HIDDEN = {
    "its own": "import os, time\nout = os.fork()\nif out == 0: time.sleep(300)",
    "one of another thread": (
        "import os, subprocess, threading, time\nmade = []\n"
        "def start():\n    made.append(subprocess.Popen(['sleep', '300']).pid)\n    time.sleep(300)\n"
        "threading.Thread(target=start, daemon=True).start()\n"
        "while not made: time.sleep(0.01)\nout = made[0]"
    ),
    "one of a thread that ended": (
        "import subprocess, threading\nmade = []\n"
        "thread = threading.Thread(target=lambda: made.append(subprocess.Popen(['sleep', '300']).pid))\n"
        "thread.start()\nthread.join()\nout = made[0]"
    ),
}
TELLS = "import os; out = os.getpid(), child.pid"
HOLDS = "x = bytearray(450 * 2**20)\nx[::4096] = b'x' * len(x[::4096])\n"


@pytest.mark.parametrize("code", HIDDEN.values(), ids=HIDDEN)
def test_a_child_of_which_the_worker_says_nothing_is_killed_before_the_next_call(run: Run, code: str) -> None:
    child = run(f"{SAYS_NOTHING}{code}").value
    assert run("out = 'clean'").value == "clean"
    assert not alive(child)


def test_children_that_loading_started_are_the_workers_own() -> None:
    loading = "import builtins, subprocess\nbuiltins.child = subprocess.Popen(['sleep', '300'])"
    with WorkerPool(setup(code=loading)) as workers:
        served = [workers.call({"code": TELLS}, timeout=20).value for _ in range(3)]
        served.append(workers.call({"code": f"child.kill(); child.wait()\n{TELLS}"}, timeout=20).value)
        served.append(workers.call({"code": TELLS}, timeout=20).value)
    assert len(set(served)) == 1
    assert not alive(served[0][1])


def test_a_worker_with_threads_of_its_own_is_used_again() -> None:
    thread = "threading.Thread(target=time.sleep, args=(300,), daemon=True).start()"
    loading = f"import threading, time\nfor _ in range(12): {thread}"
    with WorkerPool(setup(code=loading)) as workers:
        assert len({workers.call({"code": "import os; out = os.getpid()"}, timeout=20).value for _ in range(3)}) == 1


def test_memory_of_a_process_that_left_the_family_counts(run: Run) -> None:
    daemon = f"    if os.fork() == 0:\n        {'        '.join(HOLDS.splitlines(True))}        time.sleep(300)\n"
    code = f"import os, time\nif os.fork() == 0:\n{daemon}    os._exit(0)\nos.wait()\ntime.sleep(60)"
    outcome = run(code, timeout=30)
    assert outcome.kind == "memory"
    assert run("out = 'clean'").value == "clean"


def test_memory_is_looked_at_while_the_calls_clock_stands_still(run: Run) -> None:
    over = threading.Event()

    def ask(request: dict[str, Any], clock: CallClock) -> dict[str, Any]:
        with clock.wait():
            over.wait(30)
        return {}

    asks = "import threading, time\nthreading.Thread(target=ask, args=({},), daemon=True).start()\n"
    outcome = run(f"{asks}{HOLDS}time.sleep(60)", timeout=30, ask=ask)
    over.set()
    assert outcome.kind == "memory"
