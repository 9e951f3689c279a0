"""A parts artifact on disk: a folder with one text file for each part, named after it."""

from __future__ import annotations

from pathlib import Path

from skynet.errors import SkynetError
from skynet.target.prompt import ROLES


def part_files(folder: Path) -> dict[str, Path]:
    """Return the file of each part by the part's name, sorted. Raises SkynetError naming what is no part."""
    if not folder.is_dir():
        raise SkynetError(f"{folder}: a parts artifact is a folder with one text file for each part, such as system.md")
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue
        if not path.is_file():
            raise SkynetError(f"{path}: is no file; parts are text files that lie directly in {folder}")
        if path.stem in found:
            raise SkynetError(f"{path}: {found[path.stem].name} is the part {path.stem!r} already; rename one of them")
        found[path.stem] = path
    if not found:
        raise SkynetError(f"{folder}: holds no file; put one text file for each part there, such as system.md")
    return found


def read_parts(folder: Path, chat: bool) -> dict[str, str]:
    """Return the texts by part. With `chat` the parts are the turns of a chat, and other names raise SkynetError."""
    texts: dict[str, str] = {}
    for name, path in part_files(folder).items():
        if chat and name not in ROLES:
            raise SkynetError(
                f"{path}: a chat target has no part {name!r}; name the files after its turns: {', '.join(ROLES)}. "
                "For other parts write a python target, whose run(artifact, input) gets a dict of all parts"
            )
        texts[name] = read_text(path)
    return texts


def read_text(path: Path) -> str:
    """Return the text of an artifact's file. Raises SkynetError saying why it cannot be read."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise SkynetError(f"{path}: not UTF-8 text (byte {error.start}); save the file as UTF-8") from None
    except OSError as error:
        raise SkynetError(f"{path}: cannot be read: {error.strerror}") from error
