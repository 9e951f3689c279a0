"""Where a piece of evidence lies: a path on this machine, plain or as a file address."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from skynet.errors import SkynetError


class EvidenceError(SkynetError, ValueError):
    """Evidence that is there but cannot be read as what it says it is."""


def local_path(ref: str) -> Path:
    """Return the path that `ref` names. Raises EvidenceError for an address that is not on this machine."""
    parts = urlsplit(ref)
    if parts.scheme == "file" and parts.netloc in ("", "localhost"):
        return Path(unquote(parts.path))
    if "://" in ref:
        raise EvidenceError(f"The evidence lies at {ref!r}. Only a local path or a file:/// address can be read.")
    return Path(ref)


def read_text(ref: str, what: str) -> str:
    """Return the text of the file that `ref` names. Raises EvidenceError naming it."""
    path = local_path(ref)
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise EvidenceError(f"The {what} at {str(path)!r} cannot be read: {error}") from error
