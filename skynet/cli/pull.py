"""`skynet models pull`: the download with its progress on stderr, the file's path on stdout."""

from __future__ import annotations

import sys
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from skynet.errors import SkynetError, nearest

if TYPE_CHECKING:
    from skynet.models.pull import EmbeddedModel, PullProgress

_PREFIX = "local/"
_QUARTER = 25  # percent between two lines outside a terminal
_WORDS = {
    "wait": "Waiting for another process that fetches {name}",
    "download": "Fetching {name}",
    "unpack": "Unpacking {name}",
}


def run_pull_command(name: str) -> int:
    """Fetch an embedded model unless it is there, and print the path of its file."""
    from skynet.models.pull import EMBEDDED

    short = name.removeprefix(_PREFIX)
    if short not in EMBEDDED:
        known = ", ".join(EMBEDDED)
        raise SkynetError(f"there is no embedded model {name!r}.{nearest(short, EMBEDDED)} There is {known}")
    print(pull_model(EMBEDDED[short]))
    return 0


def pull_model(model: EmbeddedModel) -> Path:
    """Fetch the model, showing how far it is, and return its file; one that is there is only checked."""
    from skynet.models.pull import pull

    with PullView(model.name) as view:
        return pull(model, on_progress=view.show)


class PullView:
    """A bar on a terminal, elsewhere a line at the start of each stage and at each quarter of it."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._shown = ("", 0)
        self._bar: Any = None
        self._task: Any = None

    def show(self, progress: PullProgress) -> None:
        """Show how far a stage is."""
        words = _WORDS[progress.stage].format(name=self._name)
        if sys.stderr.isatty():
            self._draw(words, progress)
            return
        quarter = 0 if not progress.total else 100 * progress.done // progress.total // _QUARTER * _QUARTER
        if (progress.stage, quarter) != self._shown:
            self._shown = (progress.stage, quarter)
            share = f": {quarter} % of {progress.total / 1e6:.0f} MB" if progress.total else ""
            print(f"{words}{share}", file=sys.stderr, flush=True)

    def _draw(self, words: str, progress: PullProgress) -> None:
        if self._bar is None:
            self._bar = _bar()
            self._bar.start()
            self._task = self._bar.add_task(words, total=None)
        self._bar.update(self._task, description=words, completed=progress.done, total=progress.total or None)

    def __enter__(self) -> PullView:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()


def _bar() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True))
