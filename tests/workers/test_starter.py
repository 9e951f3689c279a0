"""User code may kill or stop the processes that start, guard and end it: the next call runs, and nothing stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from skynet.workers.pool import WorkerPool
from skynet.workers.process import WorkerError
from tests.workers.conftest import setup
from tests.workers.processes import alive, gone_within, parent_of

PARENTS = (
    "import os, signal, time\n"
    "def parent(pid): return int(open(f'/proc/{pid}/stat').read().rpartition(')')[2].split()[1])\n"
    "supervisor = os.getppid()\ntemplate = parent(supervisor)\n"
)
DAEMON = (
    "read, write = os.pipe()\n"
    "if os.fork() == 0:\n    os.setsid()\n    child = os.fork()\n"
    "    if child == 0:\n        os.closerange(100, 300)\n        time.sleep(300)\n"
    "    os.write(write, str(child).encode())\n    os._exit(0)\n"
    "os.wait()\ndaemon = os.read(read, 20).decode()\n"
)
ATTACKS = {
    "killing the template": "os.kill(template, signal.SIGKILL)\nos._exit(3)",
    "stopping the template": "os.kill(template, signal.SIGSTOP)\nos._exit(3)",
    "killing the supervisor": "os.kill(supervisor, signal.SIGKILL)\ntime.sleep(60)",
    "stopping the supervisor": "os.kill(supervisor, signal.SIGSTOP)\nos._exit(3)",
    "stopping the supervisor and going on": "os.kill(supervisor, signal.SIGSTOP)\nwhile True: pass",
}


IMPORTS = {
    "a library": "",
    "a library that starts a thread": (
        "import threading, time\nthreading.Thread(target=time.sleep, args=(300,), daemon=True).start()\n"
    ),
}


@pytest.fixture
def importing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], WorkerPool]:
    """Return a pool of workers that import a library with this source."""

    def pool(source: str) -> WorkerPool:
        (tmp_path / "some_library.py").write_text(source)
        monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
        return WorkerPool(replace(setup(), preload=("some_library",)))

    return pool


@pytest.mark.parametrize("library", IMPORTS.values(), ids=IMPORTS)
def test_workers_import_the_library_once_and_are_used_again(
    importing: Callable[[str], WorkerPool], library: str
) -> None:
    with importing(library) as workers:
        code = "import os, sys; out = 'some_library' in sys.modules, os.getpid()"
        served = [workers.call({"code": code}, timeout=20).value for _ in range(2)]
    assert served[0][0]
    assert served[0] == served[1]


@pytest.mark.parametrize("library", IMPORTS.values(), ids=IMPORTS)
@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_an_attack_on_our_processes_fails_its_own_call_only(
    importing: Callable[[str], WorkerPool], library: str, attack: str
) -> None:
    with importing(library) as workers:
        supervisor = workers.call({"code": f"{PARENTS}out = supervisor"}, timeout=20).value
        started = time.monotonic()
        assert workers.call({"code": f"{PARENTS}{attack}"}, timeout=1).kind in ("died", "timeout")
        assert workers.call({"code": "out = 'clean'"}, timeout=20).value == "clean"
        assert time.monotonic() - started < 5
        assert gone_within(supervisor, 2)


@pytest.mark.parametrize("library", IMPORTS.values(), ids=IMPORTS)
def test_a_daemon_whose_supervisor_was_killed_is_killed_too(
    importing: Callable[[str], WorkerPool], library: str, tmp_path: Path
) -> None:
    told = tmp_path / "pid"
    code = (
        f"{PARENTS}{DAEMON}open({str(told)!r}, 'w').write(daemon)\nos.kill(supervisor, signal.SIGKILL)\nwhile True: 1"
    )
    with importing(library) as workers:
        assert workers.call({"code": code}, timeout=20).kind == "died"
        assert gone_within(int(told.read_text()), 2)
        assert workers.call({"code": "out = 'clean'"}, timeout=20).value == "clean"


def test_what_an_import_started_lives_as_long_as_the_template(
    importing: Callable[[str], WorkerPool], tmp_path: Path
) -> None:
    told = tmp_path / "pid"
    serving = f"import subprocess\nopen({str(told)!r}, 'w').write(str(subprocess.Popen(['sleep', '300']).pid))\n"
    with importing(serving) as workers:
        workers.call({"code": f"{PARENTS}os.kill(supervisor, signal.SIGKILL)\ntime.sleep(60)"}, timeout=20)
        assert workers.call({"code": "out = 1"}, timeout=20).value == 1
        assert alive(int(told.read_text()))
    os.kill(int(told.read_text()), signal.SIGKILL)


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "ended by SIGKILL; the system may have run out of"),
        ("import os, sys; print('no room', file=sys.stderr, flush=True); os._exit(4)", "exit status 4"),
    ],
)
def test_a_template_that_cannot_be_started_is_told_with_how_it_ended(
    importing: Callable[[str], WorkerPool], ends: str, said: str
) -> None:
    with importing(ends) as workers, pytest.raises(WorkerError, match=said) as told:
        workers.call({"code": "out = 1"}, timeout=20)
    assert "at a second try" in str(told.value)
    assert ("no room" in str(told.value)) == ("no room" in ends)


def test_processes_that_were_stopped_end_with_a_killed_host() -> None:
    script = (
        "import time\nfrom skynet.workers.pool import WorkerPool\nfrom tests.workers.conftest import setup\n"
        "pool = WorkerPool(setup())\n"
        "print(pool.call({'code': 'import os; out = os.getpid()'}, timeout=20).value, flush=True)\ntime.sleep(60)"
    )
    root = Path(__file__).parents[2]
    with subprocess.Popen([sys.executable, "-c", script], cwd=root, stdout=subprocess.PIPE, text=True) as host:
        assert host.stdout is not None
        worker = int(host.stdout.readline())
        supervisor = parent_of(worker)
        template = parent_of(supervisor)
        for pid in (template, supervisor, worker):
            os.kill(pid, signal.SIGSTOP)
        host.kill()
        host.wait()
    assert all(gone_within(pid, 10) for pid in (template, supervisor, worker))
