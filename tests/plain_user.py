"""Processes without root's rights over others, whoever runs the tests: what a plain user's processes may do."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Sequence
from typing import Any

_PR_CAPBSET_DROP = 24
_MORE_THAN_THERE_ARE = 64
_LIBC = ctypes.CDLL(None)


def start(command: Sequence[str], **options: Any) -> subprocess.Popen[str]:
    """Start a program that has no capabilities, with its streams as text."""
    return subprocess.Popen(command, text=True, preexec_fn=_drop_capabilities, **options)


def _drop_capabilities() -> None:
    for capability in range(_MORE_THAN_THERE_ARE):  # gone at the exec; refused to who has none
        _LIBC.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
