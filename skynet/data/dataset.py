"""The rows of a spec as cases in three splits, and the sample for the contract check."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from skynet.data.case import Case, DataError, content_hash
from skynet.data.columns import cell, require_known, require_unique_ids, to_cases
from skynet.data.row import Row
from skynet.data.sources import read_source, require_alike
from skynet.data.splits import SPLITS, UNUSED, assign, assign_groups, seeded_order, split_sizes
from skynet.errors import nearest
from skynet.spec import ColumnSplit, PathSplit

if TYPE_CHECKING:
    from skynet.spec import CountSplit, DataSpec, FractionSplit

_NAMED_LEAKS = 5


@dataclass(frozen=True, slots=True)
class Dataset:
    """Cases by split, in file order. `val` is `train` itself when no val was asked for; `test` may be empty."""

    train: tuple[Case, ...]
    val: tuple[Case, ...]
    test: tuple[Case, ...]
    warnings: tuple[str, ...]


def load_dataset(spec: DataSpec | None, root: Path) -> Dataset:
    """Read, map and split the data of a spec; without one, a single case with an empty input. Raises DataError."""
    if spec is None:
        only = (Case("1", {}, None, "", 0),)
        return Dataset(only, only, (), ("there is no [data]: one case with an empty input, and nothing is held out",))
    warnings: list[str] = []
    if isinstance(spec.split, PathSplit):
        parts = _from_paths(spec, spec.split, root, warnings)
    else:
        rows, found = _rows(spec, root)
        warnings.extend(found)
        parts = _divided(rows, spec, spec.split, warnings)
    if not parts["train"]:
        raise DataError(f"{spec.path}: no row is in train, and the search learns from train")
    return as_dataset(parts, warnings)


def divide_rows(rows: Sequence[Row], spec: DataSpec) -> Dataset:
    """Map and split rows that are no file's; what they say as their `file` is what errors call them.

    Raises DataError, also where the spec's split goes by paths.
    """
    if isinstance(spec.split, PathSplit):
        raise DataError(f"{rows[0].file}: data.split names files, and these rows are in none")
    require_known(rows, spec.outputs, "outputs")
    warnings: list[str] = []
    parts = _divided(rows, spec, spec.split, warnings)
    if not parts["train"]:
        raise DataError(f"{rows[0].file}: no row is in train, and the search learns from train")
    return as_dataset(parts, warnings)


def as_dataset(parts: Mapping[str, Sequence[Case]], warnings: Sequence[str] = ()) -> Dataset:
    """Return divided cases as a dataset; without val, train serves as val. Adds warnings of what is not held out."""
    found = list(warnings)
    train, test = tuple(parts["train"]), tuple(parts["test"])
    val = tuple(parts["val"]) or train
    if val is train:
        found.append("there is no val split: train serves as val, so val scores are not held out")
    if not test:
        found.append("there is no test split: the run ends without a verdict on unseen cases")
    return Dataset(train, val, test, (*found, *_leaks(train, val, test)))


def sample_cases(dataset: Dataset, count: int = 3, seed: int = 0) -> list[Case]:
    """Draw up to `count` cases of train and val, of as many different expected values as there are; never of test."""
    pool = dataset.train if dataset.val is dataset.train else dataset.train + dataset.val
    seen: Counter[str] = Counter()
    ranked = []
    for case in seeded_order(pool, [f"sample:{case.id}" for case in pool], seed):
        value = content_hash(case.expected)
        ranked.append((seen[value], case))
        seen[value] += 1
    ranked.sort(key=lambda pair: pair[0])  # stable: the first of each value, then the second of each ...
    return [case for _, case in ranked[:count]]


def _from_paths(spec: DataSpec, split: PathSplit, root: Path, warnings: list[str]) -> dict[str, list[Case]]:
    sources = {name: read_source(root, path, spec.skip_bad_rows) for name, path in split if path is not None}
    rows = {name: source.rows for name, source in sources.items()}
    together = [row for part in rows.values() for row in part]
    require_known(together, spec.outputs, "outputs")
    for source in sources.values():
        warnings.extend((*source.warnings, *require_alike(source.rows, spec.inputs, spec.outputs)))
    # Row numbers start anew in each split, so its name is part of the id.
    cases = {name: to_cases(part, spec, prefix=f"{name}:") for name, part in rows.items()}
    if spec.id is not None:
        require_unique_ids([case for part in cases.values() for case in part], spec.id)
    return {name: cases.get(name, []) for name in SPLITS}


def _rows(spec: DataSpec, root: Path) -> tuple[list[Row], tuple[str, ...]]:
    if spec.path is None:
        raise DataError("data.path is missing; name a data file or folder, or give data.split paths")
    source = read_source(root, spec.path, spec.skip_bad_rows)
    require_known(source.rows, spec.outputs, "outputs")
    return source.rows, (*source.warnings, *require_alike(source.rows, spec.inputs, spec.outputs))


def _mapped(rows: Sequence[Row], spec: DataSpec) -> list[Case]:
    cases = to_cases(rows, spec)
    if spec.id is not None:
        require_unique_ids(cases, spec.id)
    return cases


def _divided(
    rows: Sequence[Row], spec: DataSpec, split: ColumnSplit | FractionSplit | CountSplit, warnings: list[str]
) -> dict[str, list[Case]]:
    """Divide rows that stand together."""
    cases = _mapped(rows, spec)
    if isinstance(split, ColumnSplit):
        names = [_named_split(row, split.column) for row in rows]
    else:
        names = _drawn(spec, split, rows, cases, warnings)
    return {name: [case for case, own in zip(cases, names, strict=True) if own == name] for name in SPLITS}


def _named_split(row: Row, column: str) -> str:
    name = cell(row, column, "split.column")
    if name not in SPLITS:
        place = f"{row.file}, line {row.line}"
        raise DataError(f"{place}: {column!r} is {name!r}; write train, val or test.{nearest(str(name), SPLITS)}")
    return str(name)


def _drawn(
    spec: DataSpec, split: FractionSplit | CountSplit, rows: Sequence[Row], cases: Sequence[Case], warnings: list[str]
) -> list[str]:
    """Return the split of each row by fractions or counts, groups and strata."""
    file = rows[0].file
    sizes = split_sizes(len(rows), split, file)
    order = seeded_order(range(len(rows)), [case.id for case in cases], spec.seed)
    strata = [""] * len(rows)
    if spec.stratify is not None:
        require_known(rows, [spec.stratify], "stratify")
        strata = [content_hash(None if row.lacks(spec.stratify) else row.values[spec.stratify]) for row in rows]
    if spec.group is None:
        names = assign(sizes, strata, order)
    else:
        groups = [content_hash(cell(row, spec.group, "group")) for row in rows]
        asked = [name for name in sizes if name != UNUSED]
        if len(set(groups)) < len(asked):
            found = f"data.group {spec.group!r} has {len(set(groups))} different values"
            raise DataError(f"{file}: {found}, too few to give {', '.join(asked)} a group each")
        names = assign_groups(sizes, strata, groups, order)
    warnings.extend(_size_warnings(sizes, Counter(names)))
    return names


def _size_warnings(sizes: dict[str, int], got: Counter[str]) -> Iterator[str]:
    asked = {name: size for name, size in sizes.items() if name != UNUSED}
    if any(got[name] != size for name, size in asked.items()):
        off = ", ".join(f"{name} {got[name]} of {size}" for name, size in asked.items())
        yield f"whole groups do not add up to the sizes asked for; rows placed: {off}"
    if got[UNUSED]:
        yield f"{got[UNUSED]} of {got.total()} rows are in no split: data.split asks for fewer rows than there are"


def _leaks(train: Sequence[Case], val: Sequence[Case], test: Sequence[Case]) -> Iterator[str]:
    """Yield a warning for each pair of splits that share an input."""
    splits = {"train": train, "test": test} if val is train else {"train": train, "val": val, "test": test}
    inputs = {name: _by_input(cases) for name, cases in splits.items()}
    for one, other in combinations(inputs, 2):
        pairs = [f"{case} = {inputs[other][key]}" for key, case in inputs[one].items() if key in inputs[other]]
        if pairs:
            named = ", ".join(pairs[:_NAMED_LEAKS]) + (" and more" if len(pairs) > _NAMED_LEAKS else "")
            count = "1 input stands" if len(pairs) == 1 else f"{len(pairs)} inputs stand"
            yield f"leak: {count} in {one} and in {other} too (cases {named}); {other} is not unseen"


def _by_input(cases: Sequence[Case]) -> dict[str, str]:
    """Return the id of the first case with each input, by the input's hash."""
    first: dict[str, str] = {}
    for case in cases:
        first.setdefault(content_hash(case.input), case.id)
    return first
