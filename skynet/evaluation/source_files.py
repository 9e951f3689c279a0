"""The files that the user's code consists of: which they are, and whether they are still what the run began with."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable
from pathlib import Path

from skynet.evaluation.guards import Stop
from skynet.scorers.typed_check import referred_files
from skynet.spec.metric_file import ENDINGS


def with_neighbours(path: Path) -> list[Path]:
    """Return the file and every file beside it that it imports or names, directly or through another."""
    found = {path: None}
    waiting = [path] if path.is_file() else []  # a missing one is the loader's to tell
    while waiting:
        current = waiting.pop()
        named = referred_files(current) if current.suffix in ENDINGS else _imported_files(current, path.parent)
        for candidate in named:
            if candidate.is_file() and candidate not in found:
                found[candidate] = None
                waiting.append(candidate)
    return sorted(found)


class SourceChanged(Stop):
    """The user's code is not what the run began with."""


class SourceFiles:
    """A file and its neighbours as they were when this was made, which is before any worker loads them.

    Workers load from the files, and new ones start all the time: without this an edit during a run would score a part
    of the cases with other code than the rest, and nobody would know.
    """

    def __init__(self, path: Path) -> None:
        self._marks = {file: _mark(file) for file in with_neighbours(path)}

    def check(self) -> None:
        """Raise SourceChanged, naming them, when files changed since. To be called when a worker has loaded them."""
        changed = [file.name for file, mark in self._marks.items() if _mark(file) != mark]
        if changed:
            raise SourceChanged(
                "error",
                f"{' and '.join(changed)} changed while this was going on: new scores would not compare with those "
                "from before. Put back what was there and resume the run, or start a new one",
            )


def _mark(file: Path) -> bytes | None:
    try:
        return hashlib.sha256(file.read_bytes()).digest() if file.is_file() else None  # reading a pipe never ends
    except OSError:  # not to be read any more: another state than the bytes it had
        return None


def _imported_files(path: Path, folder: Path) -> Iterable[Path]:
    for name in _imports(path):
        top = name.partition(".")[0]
        yield folder / f"{top}.py"
        yield from (folder / top).glob("**/*.py")


def _imports(path: Path) -> Iterable[str]:
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):  # a NUL in it; the check tells what is wrong
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
