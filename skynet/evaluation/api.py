"""`skynet.check` for Python and notebooks: it builds one project from files, functions and rows, and checks it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from skynet.artifact import Artifact
from skynet.data.case import Case
from skynet.data.dataset import Dataset
from skynet.errors import SkynetError, nearest
from skynet.evaluation.check_project import check_project
from skynet.evaluation.project import Functions, Project
from skynet.evaluation.stages import CheckResult
from skynet.spec import SPEC_NAME, Spec, load_spec, parse_spec
from skynet.spec.load import merged

UserCode = str | Path | Callable[..., Any]
_CASE_KEYS = ("id", "input", "expected")


def check(
    project: str | Path = ".",
    *,
    spec: Spec | Mapping[str, Any] | None = None,
    metric: UserCode | None = None,
    target: UserCode | None = None,
    cases: Sequence[Mapping[str, Any] | Case] | None = None,
) -> CheckResult:
    """Run the contract check and return its result, which shows itself in a notebook.

    `project` is the folder of `skynet.toml`; `spec` stands in for the file. `metric` and `target` are paths or
    functions and win over the spec; `cases` are dicts of `input`, `expected` and `id` and win over its data. With all
    three no `skynet.toml` is needed; the target then runs with an empty artifact. Raises SpecError, DataError or
    another SkynetError.
    """
    folder = Path(project)
    code = {"metric": metric, "target": target}
    functions = Functions(**{name: source for name, source in code.items() if callable(source)})
    dataset = None if cases is None else dataset_of(cases)
    given = {"metric.path": metric, "target.path": target, "data.path": cases}
    start: Artifact | None = None
    if spec is None and not folder.is_file() and not (folder / SPEC_NAME).is_file():
        _refuse_missing(folder, given)
        spec, start = {"objective": "Check the metric."}, Artifact("text", "")
    with Project(joined_spec(folder, spec, given), functions=functions, dataset=dataset, start=start) as opened:
        return check_project(opened)


def _refuse_missing(folder: Path, given: Mapping[str, object]) -> None:
    """Raise SkynetError where there is no spec and not everything that it would name is given."""
    missing = [key.partition(".")[0].replace("data", "cases") for key, value in given.items() if value is None]
    if missing:
        raise SkynetError(
            f"there is no {SPEC_NAME} in {folder.absolute()}; name a project's folder, or give {', '.join(missing)} too"
        )


def joined_spec(
    folder: Path,
    spec: Spec | Mapping[str, Any] | None,
    given: Mapping[str, Any],
    more: Mapping[str, Any] | None = None,
    unneeded: Sequence[str] = (),
) -> Spec:
    """Return the spec, or the one in the folder, with the given metric and target and `more` tables put in.

    `given` maps metric.path, target.path and data.path to what Python gave for them, or to None;
    `unneeded` are keys that the spec may do without.
    """
    tables = dict(more or {})
    if (metric := given["metric.path"]) is not None:
        tables["metric"] = {"name": None, "path": _path_of(metric)}
    if (target := given["target.path"]) is not None:
        tables["target"] = {"kind": "python", "path": _path_of(target)}
    code = [key for key, value in given.items() if callable(value) or (key == "data.path" and value is not None)]
    code += unneeded
    if spec is None:
        return load_spec(folder, tables, code)
    if not isinstance(spec, Spec):
        return parse_spec(merged(spec, tables), folder, code=code)
    if tables:
        raise SkynetError(f"give {', '.join(tables)} inside the spec, or give the spec as a dict")
    return spec


def _path_of(source: UserCode) -> str:
    """Return the file of user code, or a function's name where no file stands for it."""
    return getattr(source, "__qualname__", type(source).__name__) if callable(source) else str(Path(source).absolute())


def dataset_of(cases: Sequence[Mapping[str, Any] | Case]) -> Dataset:
    """Return rows given from Python as one train split. Raises SkynetError naming the row."""
    made = tuple(_case(row, number) for number, row in enumerate(cases, 1))
    if not made:
        raise SkynetError('cases is empty; give at least one, such as {"input": {"message": "Hi"}, "expected": None}')
    seen: dict[str, int] = {}
    for number, case in enumerate(made, 1):
        if case.id in seen:
            raise SkynetError(f"cases {seen[case.id]} and {number} have the same id {case.id!r}; ids are unique")
        seen[case.id] = number
    return Dataset(made, made, (), ())


def _case(row: Mapping[str, Any] | Case, number: int) -> Case:
    if isinstance(row, Case):
        return row
    if not isinstance(row, Mapping) or not isinstance(row.get("input"), Mapping):
        raise SkynetError(f'case {number}: write it as {{"input": {{...}}, "expected": {{...}}}}; got {row!r}')
    for key in row:
        if key not in _CASE_KEYS:
            hint = nearest(str(key), _CASE_KEYS)
            raise SkynetError(f"case {number}: unknown key {key!r}; a case has id, input, expected.{hint}")
    expected = row.get("expected")
    if expected is not None and not isinstance(expected, Mapping):
        raise SkynetError(f"case {number}: expected is a dict keyed by output column, or None; got {expected!r}")
    values = dict(expected) if expected else None
    return Case(str(row.get("id", number)), dict(row["input"]), values, "", number)
