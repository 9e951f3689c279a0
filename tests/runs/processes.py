"""Start a Python process that works on a store, for tests about what survives it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

PRELUDE = """
import os, resource, sys, threading
from pathlib import Path
from skynet.errors import SkynetError
from skynet.runs.events import Events
from skynet.runs.journal import Journal
from skynet.runs.lock import RunLock
from skynet.runs.store import Store
path = Path(sys.argv[1])
"""


def start(source: str, path: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PRELUDE + source, str(path)]
    return subprocess.Popen(
        command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def output_of(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return out
