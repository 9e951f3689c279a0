"""What a data path names: a file, a folder, or files of a folder by pattern, all inside that folder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from skynet.data.case import DataError
from skynet.data.readers import KINDS, kind_of

_MARK = "#"


@dataclass(frozen=True, slots=True)
class Place:
    """The data files that a path names, in sorted order, and those left out because they are no data files."""

    files: tuple[Path, ...]
    skipped: tuple[Path, ...] = ()


def find_files(root: Path, text: str) -> Place:
    """Return the files of `text`, relative to `root`: `file`, `folder`, `folder#file.csv` or `folder#sub/**/*.jsonl`.

    A folder alone means the files straight in it. Hidden files are not looked at. Raises DataError for a pattern that
    names nothing or leaves the folder, by `..`, an absolute path or a link.
    """
    path = root / text
    if path.is_file() or (_MARK not in text and not path.is_dir()):
        return Place((path,))
    name, _, pattern = (text, "", "") if path.is_dir() else text.partition(_MARK)
    folder = root / name
    if not folder.is_dir():
        raise DataError(f"{text}: there is no folder {str(folder)!r}")
    exact = folder / pattern
    _refuse_escape(text, pattern)
    if pattern and exact.is_file():
        return Place((_inside(exact, folder, text),))
    found = [_inside(file, folder, text) for file in _matches(folder, pattern or "*", text)]
    files = tuple(file for file in found if kind_of(file) is not None)
    if not files:
        seen = f"; the {len(found)} files found are of other kinds" if found else ""
        raise DataError(f"{text}: {str(folder)!r} holds no data file that matches{seen}; a data file is {KINDS}")
    return Place(files, tuple(file for file in found if kind_of(file) is None))


def _refuse_escape(text: str, pattern: str) -> None:
    parts = PurePosixPath(pattern.replace("\\", "/"))
    if parts.is_absolute() or ".." in parts.parts:
        raise DataError(f"{text}: what follows # stays inside the folder: no .. and no absolute path")


def _matches(folder: Path, pattern: str, text: str) -> Iterator[Path]:
    try:
        found = sorted(set(folder.glob(pattern)), key=lambda path: path.relative_to(folder).parts)
    except ValueError as error:
        raise DataError(f"{text}: not a pattern for files: {error}; write one such as data#*.csv") from None
    for path in found:
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if not hidden and path.is_file():
            yield path


def _inside(path: Path, folder: Path, text: str) -> Path:
    if not path.resolve().is_relative_to(folder.resolve()):
        raise DataError(f"{text}: {path} leads out of the folder by a link; copy the file, or name it by its own path")
    return path
