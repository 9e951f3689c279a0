"""Writes the three files of a report, each whole or not at all."""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from skynet.runs.report.html import render_html
from skynet.runs.report.markdown import render_markdown


def write_report(report: Mapping[str, Any], folder: Path) -> Path:
    """Write report.json, report.md and report.html into `folder` (made if need be); return the path of report.html.

    Each file replaces its predecessor in one step. Raises OSError when the disk refuses.
    """
    ready = strict_json(report)
    folder.mkdir(parents=True, exist_ok=True)
    # ASCII only: a lone surrogate in a model's reply survives as an escape, where UTF-8 could not hold it.
    replace_file(folder / "report.json", json.dumps(ready, indent=2, ensure_ascii=True, allow_nan=False) + "\n")
    replace_file(folder / "report.md", render_markdown(ready))
    replace_file(folder / "report.html", render_html(ready))
    return folder / "report.html"


def strict_json(value: Any) -> Any:
    """Return the value in strict JSON terms: NaN and infinity become null, what JSON has no form for its text."""
    if isinstance(value, Mapping):
        return {str(key): strict_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [strict_json(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def replace_file(path: Path, text: str) -> None:
    """Write the file whole or not at all, readable by others. Raises OSError when the disk refuses."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)  # mkstemp's 0600 would keep a colleague from reading it
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
