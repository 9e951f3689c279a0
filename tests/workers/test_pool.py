"""Workers as the host sees them: what each way to fail is called, and that the next call is clean."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from skynet.workers.pool import Load, WorkerPool
from skynet.workers.process import WorkerSetup
from tests.workers.conftest import Run, setup
from tests.workers.processes import alive, gone_within

LEFT_RUNNING = {
    "a child": "import subprocess\nout = subprocess.Popen(['sleep', '300']).pid",
    "a grandchild in its own session": (
        "import subprocess\nout = int(subprocess.run(['sh', '-c', 'setsid sleep 300 >&- 2>&- & echo $!'],"
        " capture_output=True).stdout)"
    ),
    "a daemon that forked twice": (
        "import os\nread, write = os.pipe()\nif os.fork() == 0:\n    os.setsid()\n    child = os.fork()\n"
        "    if child == 0:\n        import time; time.sleep(300)\n    os.write(write, str(child).encode())\n"
        "    os._exit(0)\nos.wait()\nout = int(os.read(read, 20))"
    ),
}


@pytest.mark.parametrize(
    ("code", "kind", "said"),
    [
        ("1 / 0", "raised", "ZeroDivisionError"),
        ("raise SystemExit(3)", "raised", "SystemExit"),
        ("raise KeyboardInterrupt", "raised", "KeyboardInterrupt"),
        ("raise MemoryError('no room')", "memory", "MemoryError"),
        ("import os; os._exit(7)", "died", "exit status 7"),
        ("import os; os._exit(0)", "died", "ended itself"),
        ("import ctypes; ctypes.string_at(0)", "died", "SIGSEGV"),
        ("import os; os.kill(os.getpid(), 9)", "died", "SIGKILL"),
        ("import os; os.closerange(0, 1000)", "died", "descriptor"),
        ("def deep(): deep()\ndeep()", "raised", "RecursionError"),
        ("out = {1, 2}", "bad_output", "type set"),
        ("out = {'rows': [1, object()]}", "bad_output", "['rows'][1]"),
        ("out = []; out.append(out)", "bad_output", "holds itself"),
        ("out = 'x' * (5 * 2**20)", "bad_output", "may cross"),
        ("x = bytearray(900 * 2**20); x[::4096] = b'x' * len(x[::4096])\nwhile True: pass", "memory", "limit is 400"),
    ],
)
def test_a_failure_has_its_own_name_and_the_next_call_is_clean(run: Run, code: str, kind: str, said: str) -> None:
    outcome = run(code)
    assert outcome.kind == kind
    assert outcome.fault is not None
    assert said in str(outcome.fault)
    assert run("out = 'clean'").value == "clean"


def test_a_timeout_kills_and_is_told_with_its_limit(run: Run) -> None:
    outcome = run("print('begun')\nwhile True: pass", timeout=0.3)
    assert outcome.kind == "timeout"
    assert "0.3 s" in str(outcome.fault)
    assert outcome.stdout == "begun\n"
    assert run("out = 1").value == 1


def test_a_process_that_ignores_signals_is_killed_all_the_same(run: Run) -> None:
    code = "import signal\nfor s in (2, 15, 1): signal.signal(s, signal.SIG_IGN)\nwhile True: pass"
    assert run(code, timeout=0.3).kind == "timeout"


@pytest.mark.parametrize("code", LEFT_RUNNING.values(), ids=LEFT_RUNNING)
def test_what_a_call_left_running_is_gone_before_the_next_call(run: Run, code: str) -> None:
    outcome = run(code)
    assert outcome.kind == "ok"
    assert not alive(outcome.value)


@pytest.mark.parametrize("code", LEFT_RUNNING.values(), ids=LEFT_RUNNING)
def test_a_timeout_kills_the_whole_tree(run: Run, code: str, tmp_path: Path) -> None:
    told = tmp_path / "pid"
    hangs = f"{code}\nopen({str(told)!r}, 'w').write(str(out))\nwhile True: pass"
    assert run(hangs, timeout=2).kind == "timeout"
    assert not alive(int(told.read_text()))


def test_a_thread_left_running_costs_the_worker(run: Run) -> None:
    first = run(
        "import os, threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()\nout = os.getpid()"
    )
    assert not alive(first.value)
    assert run("out = 1").kind == "ok"


def test_a_clean_worker_is_used_again() -> None:
    with WorkerPool(setup()) as workers:
        pids = {workers.call({"code": "import os; out = os.getpid()"}, timeout=20).value for _ in range(5)}
    assert len(pids) == 1


STATE = {
    "folder": ("os.chdir('/')", "os.getcwd()"),
    "environment": ("os.environ['A'] = '1'; os.environ.pop('PATH')", "[os.environ.get('A'), 'PATH' in os.environ]"),
    "umask": ("os.umask(0o777)", "os.umask(0o022)"),
    "signal handlers": ("signal.signal(10, lambda *_: None)", "str(signal.getsignal(10))"),
    "alarms": ("signal.setitimer(signal.ITIMER_REAL, 0.1)", "signal.getitimer(signal.ITIMER_REAL)[0]"),
    "import path": ("sys.path.clear()", "len(sys.path) > 0"),
    "streams": ("sys.stdout = None; sys.stderr = None", "sys.stdout is not None"),
    "recursion limit": ("sys.setrecursionlimit(5000)", "sys.getrecursionlimit()"),
    "random numbers": ("random.seed(7); random.random()", "random.random()"),
}


@pytest.mark.parametrize(("change", "look"), STATE.values(), ids=STATE)
def test_state_is_put_back_after_a_call(change: str, look: str, tmp_path: Path) -> None:
    imports = "import os, random, signal, sys\n"
    with WorkerPool(setup(folder=tmp_path)) as workers:
        before = workers.call({"code": f"{imports}out = {look}"}, timeout=20).value
        changed = workers.call({"code": f"{imports}{change}\nout = os.getpid()"}, timeout=20)
        after = workers.call({"code": f"{imports}out = [os.getpid(), {look}]"}, timeout=20).value
    assert after == [changed.value, before]


def test_closed_output_streams_come_back(run: Run) -> None:
    assert run("import os; os.close(1); os.close(2)").kind == "ok"
    assert run("print('seen')").stdout == "seen\n"


def test_random_numbers_follow_the_seed_and_nothing_else(run: Run) -> None:
    code = "import random\nout = random.random()"
    first = run(code, seed=1).value
    run("import random\nrandom.seed(99)")
    assert run(code, seed=1).value == first
    assert run(code, seed=2).value != first


def test_prints_keep_head_and_tail_of_any_amount(run: Run) -> None:
    outcome = run("print('first')\nfor _ in range(300_000): print('x' * 99)\nprint('last')")
    assert outcome.stdout.startswith("first\n")
    assert outcome.stdout.endswith("last\n")
    assert len(outcome.stdout) < 70 * 1024
    assert "bytes left out" in outcome.stdout


def test_prints_of_both_streams_and_of_children_are_captured(run: Run) -> None:
    outcome = run("import os, sys\nprint('a')\nprint('b', file=sys.stderr)\nos.system('echo c')")
    assert (outcome.stdout, outcome.stderr) == ("a\nc\n", "b\n")


def test_a_traceback_shows_only_frames_of_the_users_files(run: Run) -> None:
    outcome = run("import json\ndef inner():\n    json.loads('{')\ninner()")
    assert outcome.fault is not None
    assert (outcome.fault.file, outcome.fault.line) == ("/user/code.py", 3)
    assert "json/decoder" not in outcome.fault.traceback
    assert "entries.py" not in outcome.fault.traceback
    assert 'File "/user/code.py", line 4' in outcome.fault.traceback


def test_a_hostile_exception_text_cannot_break_the_report(run: Run) -> None:
    outcome = run("class Bad(Exception):\n    def __str__(self): raise ValueError('no')\nraise Bad")
    assert outcome.kind == "raised"
    assert outcome.fault is not None
    assert outcome.fault.type == "Bad"


def test_forged_frames_are_a_fault_and_not_a_value(run: Run) -> None:
    code = (
        "import os\nfor fd in range(3, 400):\n    try: os.write(fd, b'\\x00\\x00\\x00\\x05hello')\n"
        "    except OSError: pass\nimport time; time.sleep(60)"
    )
    outcome = run(code)
    assert outcome.kind == "bad_output"
    assert run("out = 1").value == 1


def test_requests_are_answered_to_every_thread(run: Run) -> None:
    code = (
        "import threading\nout = {}\ndef go(i): out[i] = ask({'number': i})['twice']\n"
        "threads = [threading.Thread(target=go, args=(i,)) for i in range(20)]\n"
        "[t.start() for t in threads]\n[t.join() for t in threads]"
    )
    outcome = run(code, ask=lambda request, clock: {"twice": 2 * request["number"]})
    assert outcome.value == {i: 2 * i for i in range(20)}


def test_a_timeout_in_a_models_reply_is_the_providers(run: Run) -> None:
    answered = threading.Event()

    def ask(request: object, clock: object) -> dict[str, object]:
        answered.wait(5)
        return {}

    outcome = run("out = ask({})", timeout=0.3, ask=ask)
    answered.set()
    assert outcome.kind == "provider"


def test_waiting_in_a_queue_counts_neither_as_time_nor_against_the_timeout(run: Run) -> None:
    def ask(request: object, clock: object) -> dict[str, object]:
        with clock.wait():  # type: ignore[attr-defined]
            time.sleep(0.8)
        return {}

    outcome = run("out = ask({})", timeout=0.5, ask=ask)
    assert outcome.kind == "ok"
    assert outcome.elapsed_ms < 500


def test_a_forked_child_cannot_speak_for_its_worker(run: Run) -> None:
    code = (
        "import os\nif os.fork() == 0:\n    try: ask({})\n    except RuntimeError: os._exit(5)\n    os._exit(0)\n"
        "out = os.waitstatus_to_exitcode(os.wait()[1])"
    )
    assert run(code, ask=lambda request, clock: {}).value == 5


def test_a_cancelled_call_ends_at_once(run: Run) -> None:
    cancel = threading.Event()
    threading.Timer(0.2, cancel.set).start()
    outcome = run("while True: pass", timeout=60, cancel=cancel)
    assert outcome.kind == "cancelled"


def test_workers_run_at_the_same_time(pool: WorkerPool) -> None:
    code = "import time; begun = time.time(); time.sleep(0.5); out = [begun, time.time()]"
    spans: list[list[float]] = []
    threads = [
        threading.Thread(target=lambda: spans.append(pool.call({"code": code}, timeout=20).value)) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(span[0] for span in spans) < min(span[1] for span in spans)


def test_a_file_that_does_not_load_is_told_as_loading() -> None:
    with WorkerPool(setup(code="raise ValueError('no')")) as workers:
        for outcome in (workers.load(), workers.call({"code": ""}, timeout=20)):
            assert outcome.loading
            assert outcome.fault is not None
            assert (outcome.fault.file, outcome.fault.line) == ("/user/load.py", 1)


def test_loading_has_its_own_timeout() -> None:
    with WorkerPool(setup(code="while True: pass"), load_seconds=0.4) as workers:
        assert workers.load().kind == "timeout"


def test_threads_that_an_import_started_do_not_break_workers(tmp_path: Path) -> None:
    (tmp_path / "threaded_library.py").write_text(
        "import threading, time\nthreading.Thread(target=time.sleep, args=(999,), daemon=True).start()\n"
    )
    plain = setup()
    environment = plain.environment | {"PYTHONPATH": str(tmp_path)}
    config: dict[str, object] = {"code": f"import sys; sys.path.append({str(tmp_path)!r}); import threaded_library"}
    threaded = type(plain)(plain.entry, tmp_path / "x", config, ("wsgiref.simple_server",), environment, plain.limits)
    with WorkerPool(threaded) as workers:
        assert workers.call({"code": "out = 1"}, timeout=20).value == 1
        assert workers.call({"code": "out = 2"}, timeout=20).value == 2


def test_no_environment_variable_or_key_of_the_host_reaches_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    with WorkerPool(setup()) as workers:
        names = workers.call({"code": "import os; out = sorted(os.environ)"}, timeout=20).value
    assert "OPENAI_API_KEY" not in names
    assert "PATH" in names


def test_no_descriptor_of_the_host_reaches_a_worker(tmp_path: Path) -> None:
    with (tmp_path / "secret").open("w") as secret, WorkerPool(setup()) as workers:
        os.set_inheritable(secret.fileno(), True)
        code = (
            "import os\nfds = [f'/proc/self/fd/{n}' for n in os.listdir('/proc/self/fd')]\n"
            "out = [os.readlink(fd) for fd in fds if os.path.lexists(fd)]"
        )
        links = workers.call({"code": code}, timeout=20).value
    assert not any("secret" in link for link in links)


def test_nothing_is_left_when_the_pool_closes() -> None:
    with WorkerPool(setup()) as workers:
        pid = workers.call({"code": "import os; out = os.getpid()"}, timeout=20).value
    assert not alive(pid)


def test_workers_die_with_a_killed_host(tmp_path: Path) -> None:
    script = (
        "import sys, time\nfrom skynet.workers.pool import WorkerPool\nfrom tests.workers.conftest import setup\n"
        "pool = WorkerPool(setup())\n"
        "print(pool.call({'code': 'import os; out = os.getpid()'}, timeout=20).value, flush=True)\ntime.sleep(60)"
    )
    root = Path(__file__).parents[2]
    with subprocess.Popen([sys.executable, "-c", script], cwd=root, stdout=subprocess.PIPE, text=True) as host:
        assert host.stdout is not None
        worker = int(host.stdout.readline())
        host.send_signal(signal.SIGKILL)
        host.wait()
    assert gone_within(worker, 10)


def serving(pool: WorkerPool, key: str) -> int:
    """Return the process that serves a key."""
    return int(pool.call({"code": "import os; out = os.getpid()"}, timeout=20, load=Load(key)).value)


def test_a_worker_is_lent_only_for_the_key_that_it_has_loaded() -> None:
    with WorkerPool(setup(), size=2) as pool:
        one, other = serving(pool, "one"), serving(pool, "other")
        assert one != other
        assert serving(pool, "one") == one
        assert serving(pool, "other") == other


def test_where_there_is_no_room_the_worker_that_waits_longest_is_replaced() -> None:
    with WorkerPool(setup(), size=2) as pool:
        one, other = serving(pool, "one"), serving(pool, "other")
        third = serving(pool, "third")
        assert gone_within(one, 2)
        assert alive(other)
        assert serving(pool, "other") == other
        assert serving(pool, "third") == third
        assert serving(pool, "one") != one


def test_what_a_key_loads_is_added_to_the_setups_config() -> None:
    told = WorkerSetup("tests.workers.entries:echo_config", Path("/nowhere"), {"base": 1}, (), {})
    with WorkerPool(told, size=1) as pool:
        for key in ("a", "b"):
            assert pool.call({}, timeout=20, load=Load(key, {"mark": key})).value == {"base": 1, "mark": key}


def test_hidden_folders_are_not_imported_from(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("")
    sys.path.append(str(tmp_path))
    try:
        for hidden, found in (((), True), ((tmp_path,), False)):
            plain = setup()
            with WorkerPool(replace(plain, hidden=hidden), size=1) as pool:
                code = f"import sys; out = {str(tmp_path)!r} in sys.path"
                assert pool.call({"code": code}, timeout=20).value is found
    finally:
        sys.path.remove(str(tmp_path))
