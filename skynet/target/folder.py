"""A folder of a target's own, outside the project."""

from __future__ import annotations

import tempfile
from pathlib import Path


class PrivateFolder:
    """A folder in which each worker makes what it needs; removed with everything in it at the end."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="skynet-", ignore_cleanup_errors=True)
        self.path = Path(self._folder.name)

    def close(self) -> None:
        """Remove the folder."""
        self._folder.cleanup()
