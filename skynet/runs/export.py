"""The best version as a file in its own form, or in the place of the project's artifact."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from skynet.artifact import Artifact, Kind
from skynet.errors import SkynetError
from skynet.evaluation.artifact_files import read_parts, read_text
from skynet.runs.stored import StoredRun


class ExportError(SkynetError):
    """The version was not written; the text says why and what would be right."""


@dataclass(frozen=True, slots=True)
class Applied:
    """The artifact's file, and whether it was written; it was not where it held the version already."""

    path: Path
    written: bool


def own_form(artifact: Artifact) -> str:
    """Return the artifact as one text: the content itself, or JSON for named parts and program states."""
    if isinstance(artifact.content, str):
        return artifact.content
    return json.dumps(artifact.content, indent=2, ensure_ascii=False) + "\n"


def write_artifact(path: Path, artifact: Artifact) -> Path:
    """Write the artifact in its own form: a folder with a file for each part, else one file. Raises ExportError."""
    if artifact.kind != "parts" or isinstance(artifact.content, str):
        return write_text(path, own_form(artifact))
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ExportError(f"cannot write {path}: {error.strerror}") from error
    present = {file.stem: file for file in path.iterdir() if file.is_file() and not file.name.startswith(".")}
    for name, text in artifact.content.items():
        write_text(present.get(name, path / f"{name}.md"), str(text))
    return path


def write_text(path: Path, text: str) -> Path:
    """Write the file whole or not at all, through links, keeping its permissions and its line ends.

    Raises ExportError.
    """
    target = path.resolve()
    if not target.parent.is_dir():
        raise ExportError(f"cannot write {path}: there is no folder {target.parent}; make it first")
    temporary: str | None = None
    try:
        crlf = target.exists() and _has_crlf(target.read_bytes())
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        with os.fdopen(handle, "w", encoding="utf-8", newline="\r\n" if crlf else "") as file:
            file.write(text)
        if target.exists():
            shutil.copymode(target, temporary)
        else:
            os.chmod(temporary, 0o644)  # mkstemp's 0600 would keep others from reading it
        os.replace(temporary, target)
    except (OSError, UnicodeEncodeError) as error:
        if temporary is not None:
            os.unlink(temporary)
        told = error.strerror if isinstance(error, OSError) else error  # the temporary file's name helps nobody
        raise ExportError(f"cannot write {path}: {told}") from error
    return path


def apply_best(run: StoredRun, root: Path, accept: bool = False) -> Applied:
    """Overwrite the artifact's file in the project's folder with the best version.

    Raises ExportError where the spec names no file, or, unless accepted, where the file changed since the run started.
    """
    named = run.row.spec["artifact"]["path"]
    best, start = run.version("best").artifact, run.version("start").artifact
    if named is None:
        raise ExportError("the run's spec names no [artifact] path, so there is no file to overwrite; use -o PATH")
    if best.kind == "dspy":
        raise ExportError(f"{named} is the program; the best version is a state of it. Write a program with -o NAME.py")
    path = root / named
    now = _current(path, best.kind)
    if now == best:
        return Applied(path, written=False)
    if now != start and not accept:
        what = "is gone" if now is None else "is no longer what the run started from"
        raise ExportError(
            f"{path} {what}; nothing was written. Compare with `skynet runs diff {run.row.id}`, and overwrite it with "
            "--yes, or write elsewhere with -o PATH"
        )
    write_artifact(path, best)
    return Applied(path, written=True)


def _current(path: Path, kind: Kind) -> Artifact | None:
    """Return what stands in the artifact's place, read as a run reads it; None when nothing does."""
    if not path.exists():
        return None
    return Artifact(kind, read_parts(path, chat=False) if kind == "parts" else read_text(path))


def _has_crlf(raw: bytes) -> bool:
    return b"\r\n" in raw and raw.count(b"\n") == raw.count(b"\r\n")
