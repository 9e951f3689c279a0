"""The rows of an evaluation job: its cases, and the outputs that are stored beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from skynet.data.case import Case, DataError
from skynet.data.columns import require_known, require_unique_ids, to_cases
from skynet.data.dataset import load_dataset
from skynet.data.row import Row
from skynet.data.sources import read_source, require_alike
from skynet.errors import SkynetError
from skynet.spec import DataSpec, EvalSpec, PathSplit, Spec


@dataclass(frozen=True, slots=True)
class JobCase:
    """One row. `output` is what is stored of it; None where `stored` is false."""

    case: Case
    output: Any = None
    stored: bool = False


@dataclass(frozen=True, slots=True)
class JobRows:
    """The rows of a job in their order, and what to know of them."""

    cases: tuple[JobCase, ...]
    warnings: tuple[str, ...]


def job_rows(spec: Spec, job: EvalSpec) -> JobRows:
    """Return the rows that the job is about. Raises DataError, or SkynetError where the spec names none."""
    data = spec.data
    if data is None:
        raise SkynetError(
            "an evaluation needs [data]: inputs and outputs name the columns; path, or eval.rows, the rows"
        )
    if job.rows is None and (job.split != "all" or isinstance(data.split, PathSplit)):
        return _of_split(spec, data, job)
    if job.rows is not None:
        rows = [Row(dict(values), number, "eval.rows") for number, values in enumerate(job.rows, 1)]
        warnings: tuple[str, ...] = ()
    else:
        source = read_source(spec.root, data.path or "", data.skip_bad_rows)
        rows = source.rows
        warnings = (*source.warnings, *require_alike(rows, data.inputs, data.outputs))
    require_known(rows, data.outputs, "outputs")
    if job.output is not None:
        _require_output(rows, job.output)
    cases = to_cases(rows, data)
    if data.id is not None:
        require_unique_ids(cases, data.id)
    return JobRows(tuple(_with_output(case, row, job) for case, row in zip(cases, rows, strict=True)), warnings)


def _require_output(rows: Sequence[Row], column: str) -> None:
    known = dict.fromkeys(name for row in rows for name in row.values)
    if column not in known:
        listed = ", ".join(map(repr, known))
        raise DataError(f"{rows[0].file}: no column {column!r}, which eval.output names. Columns here: {listed}.")


def _with_output(case: Case, row: Row, job: EvalSpec) -> JobCase:
    if job.output is None or row.lacks(job.output):
        return JobCase(case)
    return JobCase(case, row.values[job.output], stored=True)


def _of_split(spec: Spec, data: DataSpec, job: EvalSpec) -> JobRows:
    """Return the cases of one split, or of split files together. Stored outputs are found by a column read as input."""
    wanted = data if job.output is None else data.model_copy(update={"inputs": (*data.inputs, job.output)})
    dataset = load_dataset(wanted, spec.root)
    parts = {"train": dataset.train, "val": () if dataset.val is dataset.train else dataset.val, "test": dataset.test}
    cases = [case for name, part in parts.items() if job.split in ("all", name) for case in part]
    if not cases:
        raise SkynetError(f"eval.split = {job.split!r}: the data has no such split; see data.split")
    return JobRows(
        tuple(_split_off(case, job.output) for case in cases), dataset.warnings if job.split == "all" else ()
    )


def _split_off(case: Case, output: str | None) -> JobCase:
    if output is None:
        return JobCase(case)
    rest = {name: value for name, value in case.input.items() if name != output}
    value = case.input[output]
    return JobCase(Case(case.id, rest, case.expected, case.file, case.line), value, stored=value not in (None, ""))
