"""The files of an evaluation job: one output file a metric, summary.json, the page; and a baseline read back."""

from __future__ import annotations

import json
import math
import time
from dataclasses import replace
from itertools import chain, count
from pathlib import Path
from typing import Any

from skynet.errors import SkynetError
from skynet.runs.evaluation_log import LOG_NAME
from skynet.runs.evaluation_outcome import JobResult
from skynet.runs.report.eval_page import render_eval_page
from skynet.runs.report.write import replace_file, strict_json

ENDING = "_eval_output.json"
PAGE = "report.html"


def free_folder(root: Path) -> Path:
    """Return a folder for a job's files under the project's store; it is not there yet."""
    evals, stamp = root / ".skynet" / "evals", time.strftime("%Y%m%d-%H%M%S")
    names = chain([stamp], (f"{stamp}-{number}" for number in count(2)))
    return next(evals / name for name in names if not (evals / name).exists())


def write_files(result: JobResult, folder: Path) -> JobResult:
    """Write the job's files into `folder`; return the result with it. Raises OSError when the disk refuses."""
    folder.mkdir(parents=True, exist_ok=True)
    for one in result.metrics:
        _write_json(folder / f"{one.name}{ENDING}", one.output_file())
    _write_json(folder / "summary.json", result.summary())
    replace_file(folder / PAGE, render_eval_page(result))
    (folder / LOG_NAME).unlink(missing_ok=True)  # the files now say everything
    return replace(result, folder=folder)


def read_baseline(path: Path) -> dict[str, dict[str, float | None]]:
    """Return the scores of an earlier job by metric and row: of one output file, or of a folder of them.

    Raises SkynetError for what is no such file.
    """
    if not path.exists():
        raise SkynetError(f"there is no {path}; name the folder of an earlier job, or one of its files")
    files = sorted(path.glob(f"*{ENDING}")) if path.is_dir() else [path]
    if not files:
        raise SkynetError(f"{path} holds no NAME{ENDING}; name the folder of an earlier job, or one of its files")
    found = {}
    for file in files:
        if not file.name.endswith(ENDING):
            raise SkynetError(f"{file} is not called NAME{ENDING}, by which its metric is known")
        found[file.name.removesuffix(ENDING)] = _scores(file)
    return found


def _scores(file: Path) -> dict[str, float | None]:
    try:
        data: Any = json.loads(file.read_text(encoding="utf-8"))
        return {str(item["id"]): _score(item["score"]) for item in data["eval_output_items"]}
    except OSError as error:
        raise SkynetError(f"{file} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        told = "it has average_score and eval_output_items, a list of objects with id and score"
        raise SkynetError(f"{file} is no evaluation output: {told} ({error!r})") from error


def _score(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"the score {value!r} is not a number")
    return float(value)


def _write_json(path: Path, value: Any) -> None:
    replace_file(path, json.dumps(strict_json(value), indent=2, ensure_ascii=True, allow_nan=False) + "\n")
