"""A worker that answers no more: where the user's code stands is told with the timeout."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from skynet.evaluation.worker_setup import METRIC_ENTRY, PYTHON_ENTRY, worker_setup
from skynet.spec import LimitsSpec
from skynet.workers.hang import place_of
from skynet.workers.pool import Load, WorkerPool
from skynet.workers.process import WorkerSetup
from skynet.workers.worker import Outcome

LOAD_SECONDS = 1.5
HANGS = {
    "a sleep": ("import time\n\ntime.sleep(99)\n", 3, "time.sleep(99)"),
    "a loop": ("x = 1\nwhile True:\n    x += 1\n", None, ""),
    "native code": ("import re\nre.match(r'(a+)+$', 'a' * 40 + 'b')\n", 2, "re.match("),
    "a wait for a thread": (
        "import threading, time\nthread = threading.Thread(target=time.sleep, args=(99,), daemon=True)\n"
        "thread.start()\nthread.join()\n",
        4,
        "thread.join()",
    ),
}


def load(file: Path, source: str, entry: str = METRIC_ENTRY) -> Outcome:
    """Load the file into a worker that has `LOAD_SECONDS` for it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(source, encoding="utf-8")
    setup = worker_setup(entry, file, file.parent, LimitsSpec(), os.environ, ())
    with WorkerPool(setup, load_seconds=LOAD_SECONDS) as pool:
        return pool.load()


@pytest.mark.parametrize(("source", "line", "text"), HANGS.values(), ids=HANGS)
@pytest.mark.parametrize("entry", [METRIC_ENTRY, PYTHON_ENTRY])
def test_a_file_that_hangs_at_loading_is_told_with_the_line(
    tmp_path: Path, entry: str, source: str, line: int | None, text: str
) -> None:
    file = tmp_path / "hängt" / "user.py"
    fault = load(file, source, entry).fault
    assert fault is not None
    assert fault.kind == "timeout"
    assert fault.message.startswith(f"loading the file took more than {LOAD_SECONDS:g} s and was stopped at: {text}")
    assert fault.file == str(file)
    assert fault.line in ((2, 3) if line is None else (line,))


def test_a_hang_in_a_neighbour_of_the_file_is_told_with_the_neighbour(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("def wait():\n    while True: pass\nwait()\n")
    fault = load(tmp_path / "metric.py", "import helper\n").fault
    assert fault is not None
    assert (fault.file, fault.line) == (str(tmp_path / "helper.py"), 2)


def test_a_call_that_hangs_is_told_with_the_line_too(tmp_path: Path) -> None:
    file = tmp_path / "metric.py"
    file.write_text("import time\ndef score(input, output, expected=None):\n    time.sleep(99)\n")
    setup = worker_setup(METRIC_ENTRY, file, tmp_path, LimitsSpec(), os.environ, ())
    payload: dict[str, Any] = {"input": {}, "output": "x", "expected": None, "trace": None, "observation": None}
    with WorkerPool(setup) as pool:
        fault = pool.call(payload, timeout=0.5).fault
    assert fault is not None
    assert str(fault) == "the call took more than 0.5 s and was stopped at: time.sleep(99) (metric.py, line 3)"


def test_code_that_ignores_the_question_is_stopped_all_the_same(tmp_path: Path) -> None:
    source = "import signal\nsignal.signal(signal.SIGUSR2, signal.SIG_IGN)\nwhile True: pass\n"
    fault = load(tmp_path / "metric.py", source).fault
    assert fault is not None
    assert fault.message == f"loading the file took more than {LOAD_SECONDS:g} s and was stopped"
    assert (fault.kind, fault.line) == ("timeout", None)


def test_a_hang_in_a_version_of_code_is_told_with_the_line_of_its_text(tmp_path: Path) -> None:
    config: dict[str, object] = {"folder": str(tmp_path), "file": "answer.py", "entry": "run"}
    setup = WorkerSetup("skynet.evaluation.child_code:code_target", tmp_path, config, (), dict(os.environ))
    source = "def run(input):\n    while True: pass\n"
    with WorkerPool(setup) as pool:
        fault = pool.call({"input": {}}, timeout=0.5, load=Load("v", {"source": source})).fault
    assert fault is not None
    assert str(fault) == "the call took more than 0.5 s and was stopped at: while True: pass (answer.py, line 2)"


def test_a_file_that_became_something_else_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "metric.py"
    started = time.monotonic()
    fault = load(file, "import os\nos.unlink(__file__)\nos.mkfifo(__file__)\nwhile True: pass\n").fault
    assert fault is not None
    assert fault.message == f"loading the file took more than {LOAD_SECONDS:g} s and was stopped"
    assert (fault.file, fault.line) == (str(file), 4)
    assert time.monotonic() - started < 10


@pytest.mark.parametrize(
    ("named", "is_told"), [("../secret", False), ("link", True), ("fifo", True), ("a\\x1b", False)]
)
def test_a_file_that_the_worker_names_is_not_opened(tmp_path: Path, named: str, is_told: bool) -> None:
    (tmp_path / "secret").write_text("the secret line")
    folder = tmp_path / "user"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(folder / "fifo")
    dump = f'Thread 0x1 (most recent call first):\n  File "{folder}/{named}", line 1 in <module>\n'
    source = (
        "import gc, os, signal\n"
        "channel = next(item for item in gc.get_objects() if type(item).__name__ == 'Channel')\n"
        f"signal.signal(signal.SIGUSR2, lambda *_: channel.send({dump!r}.encode()))\nwhile True: pass\n"
    )
    fault = load(folder / "metric.py", source).fault
    assert fault is not None
    assert fault.message == f"loading the file took more than {LOAD_SECONDS:g} s and was stopped"
    assert fault.file == (str(folder / named) if is_told else None)


@pytest.mark.parametrize(
    "dump",
    [
        b"hread 0x" * 2**17,
        b'Thread 0x1 (most recent call first):\n  File "' + b'", line 1' * 2**17,
        b'Thread 0x1 (most recent call first):\n  File "/user/\\Uffffffff", line 1 in <module>\n',
        b'Thread 0x1 (most recent call first):\n  File "/user/a.py", line ' + b"9" * 5000 + b" in <module>\n",
    ],
    ids=["threads", "frames", "no such character", "no such line"],
)
def test_a_forged_dump_is_read_quickly_and_harms_nobody(dump: bytes) -> None:
    started = time.monotonic()
    assert place_of(dump, {"folder": "/nowhere"}) is None
    assert time.monotonic() - started < 2


def test_a_dump_without_a_frame_of_the_users_tells_no_place() -> None:
    dump = b'Current thread 0x01 (most recent call first):\n  File "/lib/x.py", line 3 in f\n'
    assert place_of(dump, {"folder": "/user"}) is None
    assert place_of(b"", {"folder": "/user"}) is None


def test_of_several_threads_the_main_one_which_is_last_tells_the_place() -> None:
    dump = (
        b'Thread 0x01 (most recent call first):\n  File "/user/a.py", line 3 in f\n\n'
        b'Current thread 0x02 (most recent call first):\n  File "/lib/x.py", line 1 in g\n'
        b'  File "/user/a.py", line 9 in h\n  File "<string>", line 1 in <module>\n'
    )
    assert place_of(b"{a piece of a frame" + dump, {"folder": "/user"}) == ("/user/a.py", 9)
