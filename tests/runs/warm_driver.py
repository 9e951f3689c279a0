"""Commands run in forks of one warm process: as separate as a process of their own, without two seconds of imports.

`python -m tests.runs.warm_driver` reads one JSON object a line: argv, the files for stdout and stderr, and where the
process kills itself, if it does. It writes the child's id at once and its wait status at its end.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import traceback
from typing import Any

WARM = ("skynet.cli.run", "skynet.runs.session", "skynet.runs.stored", "skynet_engines.auto", "skynet_engines.gepa")


def kill_at_commit(number: int, when: str) -> None:
    """Kill this process with SIGKILL right before or right after its `number`th commit to the store."""
    from skynet.runs.writer import Writer

    made = 0

    def counted(store: Any) -> Any:
        def stored(*arguments: Any) -> None:
            nonlocal made
            made += 1
            if made == number and when == "before":
                os.kill(os.getpid(), signal.SIGKILL)
            store(*arguments)
            if made == number:
                os.kill(os.getpid(), signal.SIGKILL)

        return stored

    for name in ("_store_rows", "_store_work"):
        setattr(Writer, name, counted(getattr(Writer, name)))


def main() -> None:
    from skynet.cli.main import main as command

    for name in WARM:
        importlib.import_module(name)
    for line in sys.stdin:
        wish = json.loads(line)
        child = os.fork()
        if child == 0:
            os.setsid()
            for descriptor, name in ((1, wish["out"]), (2, wish["err"])):
                os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), descriptor)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            if wish["kill"]:
                kill_at_commit(*wish["kill"])
            sys.argv = ["skynet", *wish["argv"]]
            status = 99
            try:
                command()
                status = 0
            except SystemExit as end:
                status = end.code if isinstance(end.code, int) else 1
            except BaseException:  # noqa: BLE001 - told on the command's stderr, as the interpreter would
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(status)
        print(json.dumps(child), flush=True)
        _, status = os.waitpid(child, 0)
        print(json.dumps(status), flush=True)


if __name__ == "__main__":
    main()
