"""The parent of one worker: it adopts whatever the worker leaves behind, and kills the whole tree when told to.

On Linux it is a child subreaper, so a process that left the worker's group or session still ends up here. Elsewhere
only the worker's process group can be found.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable, Sequence

from skynet.workers import process_table

STARTED = struct.Struct(">qq")  # process ids of supervisor and worker
STATUS = struct.Struct(">i")  # how the worker ended, as waitpid tells it
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_KILL_SECONDS = 5.0


def prctl(option: int, value: int) -> None:
    """Set a Linux process attribute; does nothing elsewhere. Raises OSError when the kernel refuses."""
    if sys.platform != "linux":
        return
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl refused")


def become_subreaper() -> None:
    """Adopt the orphans among this process's descendants."""
    prctl(_PR_SET_CHILD_SUBREAPER, 1)


def supervise(control: socket.socket, worker: Callable[[], None], close: Sequence[int]) -> None:
    """Fork `worker`, close our copies of its descriptors, wait for its end or for the order to kill. Never returns."""
    become_subreaper()
    wake, wake_write = socket.socketpair()
    wake_write.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake_write.fileno(), warn_on_full_buffer=False)
    supervisor = os.getpid()
    pid = os.fork()
    if pid == 0:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for end in (control, wake, wake_write):
            end.close()
        _run_worker(worker, supervisor)
    for descriptor in close:
        os.close(descriptor)
    _guard(control, wake, pid)


def _run_worker(worker: Callable[[], None], supervisor: int) -> None:
    os.setsid()
    prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != supervisor:
        os._exit(1)  # the supervisor died before the death signal was set
    try:
        worker()
    finally:
        os._exit(0)


def _guard(control: socket.socket, wake: socket.socket, pid: int) -> None:
    try:
        control.sendall(STARTED.pack(os.getpid(), pid))
        poller = select.poll()
        poller.register(control, select.POLLIN)
        poller.register(wake, select.POLLIN)
        status: int | None = None
        while status is None:
            ready = {descriptor for descriptor, _ in poller.poll()}
            if wake.fileno() in ready:
                wake.recv(64)
                status = _reap(pid)
            if control.fileno() in ready:
                break  # an order to kill, or the host is gone
        status = _kill_tree(pid, status)
        control.sendall(STATUS.pack(status))
    finally:
        _kill_tree(pid, None)
        os._exit(0)


def _reap(worker: int) -> int | None:
    """Collect every child that has ended; return the worker's status when it is among them."""
    status = None
    while True:
        try:
            pid, ended = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return status
        if pid == 0:
            return status
        if pid == worker:
            status = ended


def _kill_tree(worker: int, status: int | None) -> int:
    """Kill the worker, its group, and what this process adopted, until nothing is left; return the worker's status."""
    deadline = time.monotonic() + _KILL_SECONDS
    if status is None:
        _kill(os.killpg, worker)
        _kill(os.kill, worker)
    while time.monotonic() < deadline:
        ended = _reap(worker)
        status = ended if ended is not None else status
        left = process_table.children(process_table.scan(), os.getpid())
        if not left:
            break
        for pid in left:
            _kill(os.kill, pid)
        time.sleep(0.0005)
    return signal.SIGKILL if status is None else status


def _kill(how: Callable[[int, int], None], pid: int) -> None:
    try:
        how(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return  # it is gone, or (a group on macOS) only zombies are left in it
