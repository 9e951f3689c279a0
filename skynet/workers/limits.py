"""What a worker may use, and the environment that it is given."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB

_ALLOWED = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TEMP", "TMP", "VIRTUAL_ENV",
    "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE",
)  # fmt: skip
_ONE_THREAD = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "VECLIB_MAXIMUM_THREADS",
    "RAYON_NUM_THREADS",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes in bytes. `memory` is the resident size of a worker's whole process tree, watched while a call runs."""

    memory: int = 4 * GIB
    prints: int = 64 * KIB
    output: int = 4 * MIB
    open_files: int = 256


def worker_environment(host: Mapping[str, str], passed: Iterable[str] = ()) -> dict[str, str]:
    """Return the allow-listed environment of a worker: the basics, `passed` names that are set, one numeric thread.

    The hash seed is fixed, so that sets iterate in the same order in every worker and in a resumed run.
    """
    names = [*_ALLOWED, *(name for name in host if name.startswith("LC_")), *passed]
    environment = {name: host[name] for name in names if name in host}
    environment.update(dict.fromkeys(_ONE_THREAD, "1"))
    environment.update(PYTHONHASHSEED="0", PYTHONUTF8="1")
    return environment


_START = "import sys, json; sys.path[:] = json.loads(sys.argv[1]); from skynet.workers.template import main; main()"


def interpreter(*folders: os.PathLike[str]) -> list[str]:
    """Return the command of a fresh interpreter that finds what the host finds, less what lies in the user's folders.

    The one of the user's file is put last by the worker, so that nothing in it shadows the library. The host's working
    folder (an empty entry: a notebook, `python -c`) comes last here for the same reason.
    """
    own = {os.path.realpath(folder) for folder in folders}
    entries = [entry for entry in sys.path if entry] + ([os.getcwd()] if "" in sys.path else [])
    path = [entry for entry in entries if os.path.realpath(entry) not in own]
    return [sys.executable, "-P", "-c", _START, json.dumps(path)]
