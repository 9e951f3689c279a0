"""A read handle over a recorded folder that no path and no symlink leads out of."""

from __future__ import annotations

import asyncio
import difflib
import os
import stat
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Literal

from skynet.typed.refs import EvidenceError


@dataclass(frozen=True, slots=True)
class FilesystemEntry:
    """One file that differs between two folders."""

    path: str
    change_type: Literal["added", "modified", "deleted"]


@dataclass(frozen=True, slots=True)
class FilesystemDiff:
    """The files that differ between two folders, by path."""

    entries: tuple[FilesystemEntry, ...]

    def changed(self, change_type: str | None = None) -> list[str]:
        """Return the paths, of one kind of change when given."""
        return [entry.path for entry in self.entries if change_type in (None, entry.change_type)]


class LocalFilesystemEvidence:
    """Reads inside one folder only. Paths are relative to it, with forward slashes in what is returned."""

    def __init__(self, root: str | Path) -> None:
        self._root = Path(root).resolve()
        if not self._root.is_dir():
            raise EvidenceError(f"There is no folder {str(self._root)!r}.")

    @property
    def root(self) -> Path:
        """The folder, with its symlinks resolved."""
        return self._root

    def path(self, relative_path: str | PurePath = ".") -> Path:
        """Return the real path inside the folder. Raises EvidenceError when it lies outside."""
        asked = PurePath(relative_path)
        if asked.is_absolute() or ".." in asked.parts or "\0" in str(asked):
            raise EvidenceError(f"{str(asked)!r} leads out of the recorded folder: give a path below it, without '..'.")
        try:
            real = (self._root / asked).resolve()
        except (OSError, RuntimeError) as error:  # a loop of symlinks
            raise EvidenceError(f"{str(asked)!r} cannot be followed: {error}") from error
        if not real.is_relative_to(self._root):
            raise EvidenceError(f"{str(asked)!r} is a symlink that leads out of the recorded folder.")
        return real

    async def exists(self, relative_path: str | PurePath = ".") -> bool:
        """Whether there is a file or folder. Raises EvidenceError when the path lies outside."""
        return self.path(relative_path).exists()

    async def read_bytes(self, relative_path: str | PurePath) -> bytes:
        """Return a file's content. Raises EvidenceError when it lies outside or is no regular file."""
        return await asyncio.to_thread(self._read, relative_path)

    async def read_text(self, relative_path: str | PurePath, *, encoding: str = "utf-8") -> str:
        """Return a file's text. Raises as read_bytes, and UnicodeDecodeError."""
        return (await self.read_bytes(relative_path)).decode(encoding)

    async def list_files(self, pattern: str = "**/*") -> list[str]:
        """Return the regular files that match, sorted; a symlink that leads out is left out."""
        return await asyncio.to_thread(self._list, pattern)

    async def diff(self, other: LocalFilesystemEvidence) -> FilesystemDiff:
        """Return what changed from `other`, the earlier state, to this one."""
        return await asyncio.to_thread(self._diff, other)

    async def unified_diff(
        self, other: LocalFilesystemEvidence, relative_path: str | PurePath, *, context: int = 3
    ) -> str:
        """Return the unified diff of one text file from `other` to this one; a missing file counts as empty."""
        before, after = await asyncio.gather(_lines(other, relative_path), _lines(self, relative_path))
        name = PurePath(relative_path).as_posix()
        return "".join(difflib.unified_diff(before, after, f"a/{name}", f"b/{name}", n=context))

    def _read(self, relative_path: str | PurePath) -> bytes:
        real = self.path(relative_path)
        parts = real.relative_to(self._root).parts
        try:
            descriptor = _open_below(self._root, parts)
        except OSError as error:
            raise EvidenceError(f"{str(relative_path)!r} cannot be read: {error}") from error
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise EvidenceError(f"{str(relative_path)!r} is not a regular file.")
        with os.fdopen(descriptor, "rb") as file:
            return file.read()

    def _list(self, pattern: str) -> list[str]:
        asked = PurePath(pattern)
        if asked.is_absolute() or ".." in asked.parts:
            raise EvidenceError(f"The pattern {pattern!r} leads out of the recorded folder.")
        found = (path for path in self._root.glob(pattern) if path.is_file())
        return sorted(path.relative_to(self._root).as_posix() for path in found if self._holds(path))

    def _holds(self, path: Path) -> bool:
        return path.resolve().is_relative_to(self._root)

    def _diff(self, other: LocalFilesystemEvidence) -> FilesystemDiff:
        before, after = set(other._list("**/*")), set(self._list("**/*"))
        modified = [path for path in before & after if other._read(path) != self._read(path)]
        entries = [FilesystemEntry(path, "added") for path in after - before]
        entries += [FilesystemEntry(path, "deleted") for path in before - after]
        entries += [FilesystemEntry(path, "modified") for path in modified]
        return FilesystemDiff(tuple(sorted(entries, key=lambda entry: entry.path)))


async def _lines(folder: LocalFilesystemEvidence, relative_path: str | PurePath) -> list[str]:
    if not await folder.exists(relative_path):
        return []
    return (await folder.read_text(relative_path)).splitlines(keepends=True)


def _open_below(root: Path, parts: tuple[str, ...]) -> int:
    """Open a file step by step without following a symlink: one put there after the check leads nowhere.

    O_NONBLOCK: a pipe in the folder must not hold the reader.
    """
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in parts[:-1]:
            below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = below
        name = parts[-1] if parts else "."
        return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    finally:
        os.close(folder)
