"""`skynet submit`, `runs watch` and `runs cancel`: a run in a process of its own, followed and stopped from another."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from skynet.cli.ending import INTERRUPTED
from skynet.cli.options import require_folder
from skynet.errors import SkynetError

if TYPE_CHECKING:
    from skynet.runs.events import Event
    from skynet.runs.store import RunRow, Store

_START_SECONDS = 120.0
_SHOWN_CHARS = 2000  # of the log of a run that did not start
_LOOK_SECONDS = 0.2
_CANCEL_SECONDS = 10.0


def run_submit_command(directory: Path, arguments: Sequence[str]) -> int:
    """Start the project's run in a process of its own, wait until its check has passed, and print its id.

    The check is the run's own, so that nothing is paid twice. Returns 1 where the run ended in it, 130 after Ctrl-C,
    which ends the waiting only.
    """
    from skynet.runs.session import STORE_FOLDER

    require_folder(directory)
    root = directory if directory.is_dir() else directory.parent
    folder = root.absolute() / STORE_FOLDER / "runs"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SkynetError(f"no run can be stored in {folder.parent}: {error.strerror}") from None
    known = _known_runs(root)
    process, log = _start(directory, root, folder, arguments)
    run = None
    try:
        run = _await_run(root, process, log, known)
        log = log.rename(folder / f"{run}.log")
        status = _await_check(root, run)
    except KeyboardInterrupt:
        return _left_alone(process.pid, run, log)
    if status is not None:
        print(log.read_text(encoding="utf-8", errors="replace").rstrip(), file=sys.stderr)
        if status == "interrupted":
            told = f"Run {run} is interrupted: its process was killed. Go on with `skynet runs resume {run}`."
            print(told, file=sys.stderr)
        return 1
    print(run)
    print(f"Follow it with `skynet runs watch {run}`; its log is {log}.", file=sys.stderr)
    return 0


def _start(directory: Path, root: Path, folder: Path, arguments: Sequence[str]) -> tuple[subprocess.Popen[bytes], Path]:
    """Start the run with its output in a file that `run_log` knows, until the run has an id."""
    log = folder / f"submit-{time.time_ns()}.log"
    # -P: the project's folder is no place to import Skynet's own modules from.
    command = [sys.executable, "-P", "-m", "skynet.cli.main", "run", str(directory.absolute()), *arguments]
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True, cwd=root
        )
    return process, log


def _left_alone(process: int, run: str | None, log: Path) -> int:
    """Say what goes on although nobody waits for it any more: the run has a session of its own, and no Ctrl-C."""
    if run is not None:
        print(run)
        told = f"Run {run} goes on by itself. Stop it with `skynet runs cancel {run}`; its log is {log}."
    else:
        told = f"The run goes on by itself, as process {process}; `skynet runs list` will show it. Its log is {log}."
    print(told, file=sys.stderr)
    return INTERRUPTED


def _known_runs(directory: Path) -> frozenset[str]:
    from skynet.runs.session import STORE_FILE, STORE_FOLDER, open_store

    if not (directory / STORE_FOLDER / STORE_FILE).exists():
        return frozenset()
    with open_store(directory, create=False) as store:
        return frozenset(row.id for row in store.runs())


def _await_run(directory: Path, process: subprocess.Popen[bytes], log: Path, known: Collection[str]) -> str:
    """Return the id of the run that `process` drives, or drove, once it has a row; `known` are earlier runs."""
    from skynet.runs.lock import last_pid
    from skynet.runs.session import STORE_FOLDER

    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        ended = process.poll() is not None
        for run in _known_runs(directory).difference(known):
            if last_pid(directory / STORE_FOLDER, run) == process.pid:
                return run
        if ended:
            break
        time.sleep(_LOOK_SECONDS)
    told = log.read_text(encoding="utf-8", errors="replace").strip().removeprefix("Error: ")
    raise SkynetError(f"the run did not start: {told[-_SHOWN_CHARS:] or 'it said nothing'}\nIts log: {log}")


def _await_check(directory: Path, run: str) -> str | None:
    """Wait until the run's check has passed, which its first version shows; return how the run ended in it, if so."""
    from skynet.runs.events import Events
    from skynet.runs.session import open_store

    with open_store(directory, create=False) as store:
        while True:
            row = store.run(run)
            if any(event.kind == "proposed" for event in Events(store, row).read()):
                return None
            if row.status != "running":
                return row.status
            time.sleep(_LOOK_SECONDS)


def run_watch_command(directory: Path, run: str) -> int:
    """Follow a run's events until it ends; return the exit status that goes with its end."""
    from skynet.cli.run import EXIT
    from skynet.runs.events import Events
    from skynet.runs.lock import is_driven
    from skynet.runs.session import open_store

    with open_store(directory, create=False) as store:
        row = store.run(run)
        events, redact = Events(store, row), redaction_of(directory, row)
        seen = 0
        while True:
            driven = is_driven(store.folder, row.id)  # until its report is written, too
            for event in events.read(after=seen):
                seen = event.seq
                print(event_line(event, redact), flush=True)
            if not driven:
                break
            time.sleep(_LOOK_SECONDS)
        row = store.run(row.id)
    print(f"{row.id}: {row.status}{f' ({row.finish_reason})' if row.finish_reason else ''}")
    return EXIT.get(row.status, 1)


def redaction_of(directory: Path, row: RunRow) -> Callable[[str], str]:
    """Return what takes keys out of a text, those too that the run's models name: an older store may hold some."""
    from skynet.models.keys import Keys

    keys = Keys(os.environ, directory / ".env")
    for model in (row.spec.get("models") or {}).values():
        if model and model.get("api_key_env"):
            keys.find(model["api_key_env"])
    return keys.redact


def event_line(event: Event, redact: Callable[[str], str]) -> str:
    """Return one event as a line, without the keys in it."""
    from skynet.runs.run_log import event_words

    return f"{time.strftime('%H:%M:%S', time.localtime(event.at))}  {event_words(event, redact)}"


def run_cancel_command(directory: Path, run: str) -> int:
    """Ask the driver of a run to cancel it, and wait until it has; return the exit status."""
    from skynet.runs.drive import cancel_path
    from skynet.runs.lock import is_driven
    from skynet.runs.session import open_store

    with open_store(directory, create=False) as store:
        row = store.run(run)
        if row.status != "running":
            return _cancel_idle(store, row)
        cancel_path(store.folder, row.id).touch()
        deadline = time.monotonic() + _CANCEL_SECONDS
        while time.monotonic() < deadline:
            if not is_driven(store.folder, row.id):
                print(f"{row.id}: {store.run(row.id).status}; what it paid is kept")
                return 0
            time.sleep(_LOOK_SECONDS)
    raise SkynetError(f"run {row.id} was asked to cancel and has not answered within {_CANCEL_SECONDS:.0f} s")


def _cancel_idle(store: Store, row: RunRow) -> int:
    """Mark an interrupted run as cancelled; refuse for one that has ended. Raises RunDriven when it just went on."""
    from skynet.runs.events import Events
    from skynet.runs.lock import RunLock

    if row.status != "interrupted":
        raise SkynetError(f"run {row.id} has ended already: it is {row.status}")
    with RunLock(store.folder, row.id):
        store.update_run(row.id, status="cancelled", finish_reason="cancelled", ended_at=time.time())
        Events(store, row).append("state", reason="cancelled")
    print(f"{row.id}: cancelled; what it paid is kept. To go on after all: skynet runs resume {row.id}")
    return 0
