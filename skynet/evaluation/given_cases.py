"""Rows given from Python, as cases: ready ones, or rows of columns that `[data]` maps; whole, or in their splits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from skynet.data.case import Case, DataError, content_hash
from skynet.data.columns import require_known, require_unique_ids, to_cases
from skynet.data.dataset import Dataset, as_dataset, divide_rows
from skynet.data.row import Row
from skynet.data.splits import SPLITS, assign, seeded_order, split_sizes
from skynet.errors import SkynetError, nearest
from skynet.spec import CountSplit, DataSpec, FractionSplit

Rows = Iterable[Mapping[str, Any] | Case]  # a list, a pandas DataFrame, an Arrow table
Cases = Rows | Mapping[str, Rows]

_FILE = "cases"  # what errors call rows that no file holds
_CASE_KEYS = ("id", "input", "expected")
_SPLIT = FractionSplit.model_validate({"train": 0.6, "val": 0.2, "test": 0.2})
_BY_SPLIT = 'cases={"train": [...], "val": [...], "test": [...]}'


def given_dataset(cases: Cases, data: DataSpec | None) -> Dataset:
    """Return rows in their splits: the ones that they are given by, or those of `[data] split` (0.6 / 0.2 / 0.2).

    Raises SkynetError naming the row, the column or the split.
    """
    if isinstance(cases, Mapping):
        return as_dataset(_by_split(cases, data))
    rows = plain_rows(cases)
    if data is not None and not _are_cases(rows, data):
        return divide_rows(_as_rows(rows, data), data)
    return _divided(_ready(rows), data)


def whole_dataset(cases: Cases, data: DataSpec | None) -> Dataset:
    """Return rows of every split but `test` as one train split, for what needs some cases and no verdict."""
    if isinstance(cases, Mapping):
        parts = _by_split(cases, data)
        made = tuple(parts["train"] + parts["val"])
    else:
        made = tuple(_made(plain_rows(cases), data))
    return Dataset(made, made, (), ())


def plain_rows(rows: Any) -> list[Any]:
    """Return the rows of a DataFrame or an Arrow table as dicts, and those of anything else as they are."""
    if isinstance(rows, str | bytes) or not (isinstance(rows, Iterable) or hasattr(rows, "to_pylist")):
        raise SkynetError(
            f"rows are a list of dicts, a DataFrame, or a dict of such by split; got {type(rows).__name__}"
        )
    if hasattr(rows, "to_pylist"):  # an Arrow table
        return list(rows.to_pylist())
    if hasattr(rows, "notna"):  # a pandas DataFrame; as objects its values are Python's own, but for times
        found = rows.astype(object).where(rows.notna(), None).to_dict("records")
        return [{column: _python_time(value) for column, value in row.items()} for row in found]
    return list(rows)


def _python_time(value: Any) -> Any:
    return value.to_pydatetime() if hasattr(value, "to_pydatetime") else value


def _by_split(cases: Mapping[str, Rows], data: DataSpec | None) -> dict[str, list[Case]]:
    """Return the cases of each split; ids are unique over all of them."""
    for name in cases:
        if name not in SPLITS:
            raise SkynetError(f"cases has no split {name!r}; splits are train, val, test.{nearest(name, SPLITS)}")
    given = {name: plain_rows(rows) for name, rows in cases.items()}
    if not given.get("train"):
        raise SkynetError("cases has no row in train, and the search learns from train")
    made = _made([row for rows in given.values() for row in rows], data)
    parts: dict[str, list[Case]] = {name: [] for name in SPLITS}
    for name, rows in given.items():
        parts[name], made = made[: len(rows)], made[len(rows) :]
    return parts


def _made(rows: Sequence[Any], data: DataSpec | None) -> list[Case]:
    if data is None or _are_cases(rows, data):
        return _ready(rows)
    made = _as_rows(rows, data)
    require_known(made, data.outputs, "outputs")
    cases = to_cases(made, data)
    if data.id is not None:
        require_unique_ids(cases, data.id)
    return cases


def _are_cases(rows: Sequence[Any], data: DataSpec) -> bool:
    """Whether rows are ready cases although `[data]` names columns; the first row says so for all."""
    first = rows[0] if rows else None
    if isinstance(first, Mapping):
        return isinstance(first.get("input"), Mapping) and "input" not in data.inputs
    return True  # a Case, or nothing that could be mapped


def _as_rows(rows: Sequence[Any], data: DataSpec) -> list[Row]:
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Mapping):
            raise SkynetError(f"case {number}: a row is a dict of its columns; got {row!r}")
        _require_plain([row.get(column) for column in (*data.inputs, *data.outputs)], number)
    return [Row(dict(row), number, _FILE) for number, row in enumerate(rows, 1)]


def _divided(cases: Sequence[Case], data: DataSpec | None) -> Dataset:
    """Divide ready cases by fractions or counts."""
    split = _SPLIT if data is None else data.split
    if not isinstance(split, FractionSplit | CountSplit):
        raise SkynetError(
            "cases given from Python are split by fractions or counts; [data] split goes by column or paths. Give "
            f"{_BY_SPLIT}"
        )
    if data is not None and (data.group or data.stratify):
        raise SkynetError(f"[data] group and stratify name columns of a file. Give the splits instead: {_BY_SPLIT}")
    order = seeded_order(range(len(cases)), [case.id for case in cases], 0 if data is None else data.seed)
    names = assign(split_sizes(len(cases), split, _FILE), [""] * len(cases), order)
    return as_dataset({name: [case for case, own in zip(cases, names, strict=True) if own == name] for name in SPLITS})


def _ready(rows: Sequence[Any]) -> list[Case]:
    """Return rows that are written as cases. Raises SkynetError naming the row."""
    made = [_case(row, number) for number, row in enumerate(rows, 1)]
    if not made:
        raise SkynetError('cases is empty; give at least one, such as {"input": {"message": "Hi"}, "expected": None}')
    seen: dict[str, int] = {}
    for number, case in enumerate(made, 1):
        if case.id in seen:
            raise SkynetError(f"cases {seen[case.id]} and {number} have the same id {case.id!r}; ids are unique")
        seen[case.id] = number
        _require_plain([case.input, case.expected], number)
    return made


def _case(row: Any, number: int) -> Case:
    if isinstance(row, Case):
        return row
    if not isinstance(row, Mapping) or not isinstance(row.get("input"), Mapping):
        columns = isinstance(row, Mapping) and bool(row)
        advice = f" Or say which columns are which: {_example(row)}." if columns else ""
        raise SkynetError(f'case {number}: write it as {{"input": {{...}}, "expected": {{...}}}}; got {row!r}.{advice}')
    for key in row:
        if key not in _CASE_KEYS:
            hint = nearest(str(key), _CASE_KEYS)
            raise SkynetError(f"case {number}: unknown key {key!r}; a case has id, input, expected.{hint}")
    expected = row.get("expected")
    if expected is not None and not isinstance(expected, Mapping):
        raise SkynetError(f"case {number}: expected is a dict keyed by output column, or None; got {expected!r}")
    values = dict(expected) if expected else None
    return Case(str(row.get("id", number)), dict(row["input"]), values, "", number)


def _example(row: Mapping[str, Any]) -> str:
    """Return a table of `[data]` as it may be for such rows: the last column is often the expected one."""
    *first, last = row
    inputs, outputs = (first, [last]) if first else ([last], [])
    shown = f'"inputs": {inputs!r}' + (f', "outputs": {outputs!r}' if outputs else "")
    return f"data={{{shown}}}".replace("'", '"')


def _require_plain(values: Any, number: int) -> None:
    """Raise SkynetError for values that no case can hold."""
    try:
        content_hash(values)
    except DataError as error:
        raise SkynetError(f"case {number}: {error}") from None
