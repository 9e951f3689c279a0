"""What a script prints under different hash seeds, by which sets and dicts of strings may be ordered."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def printed_over_hash_seeds(script: str) -> set[str]:
    """Run the script once for each of two hash seeds; return the different outputs."""
    printed = set()
    for seed in ("0", "77"):
        done = subprocess.run(
            [sys.executable, "-c", script],
            cwd=Path(__file__).parents[2],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        printed.add(done.stdout)
    return printed
