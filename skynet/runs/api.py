"""`skynet.optimize` for Python and notebooks: it builds one spec from files, functions and rows, and runs it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from skynet.data.case import Case
from skynet.data.dataset import Dataset, as_dataset
from skynet.data.splits import SPLITS, assign, seeded_order, split_sizes
from skynet.errors import SkynetError, nearest
from skynet.evaluation.api import UserCode, dataset_of, joined_spec
from skynet.evaluation.project import Functions
from skynet.runs.result import RunResult
from skynet.runs.session import Given, run_project
from skynet.spec import SPEC_NAME, CountSplit, FractionSplit, Spec

Rows = Sequence[Mapping[str, Any] | Case]
_SPLIT = FractionSplit.model_validate({"train": 0.6, "val": 0.2, "test": 0.2})


def optimize(
    project: str | Path = ".",
    *,
    spec: Spec | Mapping[str, Any] | None = None,
    metric: UserCode | None = None,
    target: UserCode | None = None,
    cases: Rows | Mapping[str, Rows] | None = None,
    engine: str | Mapping[str, Any] | None = None,
    budget: int | Mapping[str, Any] | None = None,
    models: Mapping[str, Any] | None = None,
    accept: bool = False,
    trust_artifacts: bool = False,
) -> RunResult:
    """Search for a better version, and return the result with its verdict; it shows itself in a notebook.

    `project` is the folder of `skynet.toml`, where the store is kept too; `spec` stands in for the file, as a dict of
    its tables. `metric` and `target` are paths or functions; `cases` are dicts of `input`, `expected` and `id`, divided
    as `[data] split` says (0.6 / 0.2 / 0.2 when left out), or given by split: {"train": [...], "val": [...], "test":
    [...]}. `engine` is a name or a table, `budget` a table or a number of metric calls, `models` a table of role to
    model. All of them win over the spec. `accept` goes on where the budget buys no proposal or a price is unknown;
    `trust_artifacts` runs code that a model wrote, as your user.
    Raises SpecError, DataError or another SkynetError before anything is spent; Ctrl-C ends with status `interrupted`.
    """
    folder = Path(project)
    if spec is None and not folder.is_file() and not (folder / SPEC_NAME).is_file():
        raise SkynetError(
            f"there is no {SPEC_NAME} in {folder.absolute()}; name a project's folder, or give spec=, such as "
            '{"objective": "...", "artifact": {"path": "prompt.md"}, "target": {"kind": "chat"}}'
        )
    tables = _tables(engine=engine, budget=budget, models=models)
    paths = {"metric.path": metric, "target.path": target, "data.path": cases}
    joined = joined_spec(folder, spec, paths, tables)
    code = {"metric": metric, "target": target}
    given = Given(
        functions=Functions(**{name: source for name, source in code.items() if callable(source)}),
        dataset=None if cases is None else split_cases(cases, joined),
        accept=accept,
        accept_code=trust_artifacts,
        tables=tables,
    )
    return run_project(joined, given)


def _tables(**given: Any) -> dict[str, Any]:
    """Return what was given as tables of a spec; a plain number is a budget of metric calls."""
    budget = given["budget"]
    if isinstance(budget, int):
        given["budget"] = {"metric_calls": budget}
    return {name: value for name, value in given.items() if value is not None}


def split_cases(cases: Rows | Mapping[str, Rows], spec: Spec) -> Dataset:
    """Return rows given from Python in their splits. Raises SkynetError naming the row or the split."""
    if isinstance(cases, Mapping):
        return as_dataset(_named(cases))
    rows = dataset_of(cases).train
    split = _SPLIT if spec.data is None else spec.data.split
    if not isinstance(split, FractionSplit | CountSplit):
        raise SkynetError(
            "cases given from Python are split by fractions or counts; [data] split goes by column or paths. Give "
            'cases={"train": [...], "val": [...], "test": [...]}'
        )
    if spec.data is not None and (spec.data.group or spec.data.stratify):
        raise SkynetError(
            "[data] group and stratify name columns of a file. Give the splits instead: "
            'cases={"train": [...], "val": [...], "test": [...]}'
        )
    order = seeded_order(range(len(rows)), [case.id for case in rows], spec.data.seed if spec.data else 0)
    names = assign(split_sizes(len(rows), split, "cases"), [""] * len(rows), order)
    return as_dataset({name: [case for case, own in zip(rows, names, strict=True) if own == name] for name in SPLITS})


def _named(cases: Mapping[str, Rows]) -> dict[str, list[Case]]:
    """Return the cases of each split; ids are unique over all of them."""
    for name in cases:
        if name not in SPLITS:
            raise SkynetError(f"cases has no split {name!r}; splits are train, val, test.{nearest(name, SPLITS)}")
    if not cases.get("train"):
        raise SkynetError("cases has no row in train, and the search learns from train")
    made = list(dataset_of([row for rows in cases.values() for row in rows]).train)
    parts: dict[str, list[Case]] = {name: [] for name in SPLITS}
    for name, rows in cases.items():
        parts[name], made = made[: len(rows)], made[len(rows) :]
    return parts
