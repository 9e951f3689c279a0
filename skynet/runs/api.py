"""`skynet.optimize` for Python and notebooks: it builds one spec from files, functions and rows, and runs it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from skynet.errors import SkynetError, nearest
from skynet.evaluation.arguments import Arguments, Start, Table, UserCode, has_spec, require_whole
from skynet.evaluation.given_cases import Cases
from skynet.runs.money import COUNTED, Refused
from skynet.runs.origin import Origin
from skynet.runs.result import RunResult
from skynet.runs.session import Given, resume_run, run_project
from skynet.spec import Spec

_NEEDED = ("artifact", "metric", "task", "cases", "budget")
_AS_ARGUMENTS = {
    r"--trust-artifacts": "trust_artifacts=True",
    r"--yes": "accept=True",
    r"skynet run --fork (\S+)": r'skynet.optimize(..., fork="\1")',
}


def optimize(
    project: str | Path = ".",
    *,
    artifact: Start | None = None,
    objective: str | None = None,
    metric: UserCode | None = None,
    target: UserCode | Table | None = None,
    cases: Cases | None = None,
    data: Table | None = None,
    engine: str | Table | None = None,
    models: Table | None = None,
    budget: int | Table | None = None,
    spec: Spec | Table | None = None,
    accept: bool = False,
    trust_artifacts: bool = False,
    fork: str | None = None,
    resume: str | None = None,
    add_budget: Mapping[str, float] | None = None,
) -> RunResult:
    """Search for a better version, and return the result with its verdict; it shows itself in a notebook.

    `project` is the folder of `skynet.toml`, where the store is kept too; without that file the arguments say all.

    - `artifact`: the start version: a text, a dict of texts by part, a `skynet.Artifact`, or the Path of a file or a
      folder. `objective`: what it should achieve.
    - `metric`: `score(input, output, expected)`, a function or a file. `target`: `run(artifact, input)`, a function or
      a file, or a table; left out, the artifact is a chat with the task model.
    - `cases`: dicts of `input`, `expected` and `id`; or rows of columns (dicts, a DataFrame), and `data` says which are
      `inputs` and `outputs`. They are divided as `[data] split` says, 0.6 / 0.2 / 0.2 when left out, or given by split:
      {"train": [...], "val": [...], "test": [...]}.
    - `engine`: a name or a table. `models`: role to model. `budget`: a table, or a number of metric calls.
    - `spec`: the whole file as a dict; what is given beside it wins, as it wins over the file.
    - `accept` goes on where the budget buys no proposal or a price is unknown; `trust_artifacts` runs code that a model
      wrote, as your user.
    - `fork`: a run whose paid results are taken over where they are still valid. `resume`: a run that was cut, which
      goes on exactly where it was: give the functions and rows that it was started with. `add_budget`, such as
      {"metric_calls": 100}, grants it more.

    Raises SpecError, DataError or another SkynetError before anything is spent; Ctrl-C ends with status `interrupted`.
    """
    folder = Path(project)
    given = Arguments(
        artifact=artifact, objective=objective, metric=metric, target=target, cases=cases, data=data, engine=engine,
        models=models, budget=budget,
    )  # fmt: skip
    extra = Given(accept=accept, accept_code=trust_artifacts, fork=fork)
    try:
        if resume is not None:
            return _resumed(folder, resume, given, spec, extra, add_budget)
        if add_budget:
            raise SkynetError("add_budget goes with resume=; a new run takes budget=")
        require_whole(folder, spec, given, _NEEDED)
        joined = given.spec(folder, spec)
        extra = replace(extra, own_spec=spec is not None or not has_spec(folder))
        return run_project(joined, _filled(extra, given, joined))
    except Refused as refused:
        raise Refused(_in_python(str(refused))) from None


def _filled(extra: Given, given: Arguments, spec: Spec) -> Given:
    """Return everything that the session is given besides the spec."""
    functions, tables = given.functions, given.tables()
    return replace(extra, functions=functions, dataset=given.dataset(spec), start=given.start(spec), tables=tables)


def _resumed(
    folder: Path,
    run: str,
    given: Arguments,
    spec: Spec | Table | None,
    extra: Given,
    add_budget: Mapping[str, float] | None,
) -> RunResult:
    if extra.fork is not None:
        raise SkynetError("fork starts a new run, resume goes on with one; give one of them")
    for name, amount in (add_budget or {}).items():
        if name not in COUNTED or not amount > 0:
            known = ", ".join(COUNTED)
            raise SkynetError(
                f"add_budget: {name} = {amount!r}; give amounts above 0 of {known}.{nearest(name, COUNTED)}"
            )

    def renew(origin: Origin) -> tuple[Spec, Given]:
        lacking = [name for name in origin.only_python if getattr(given, name) is None]
        if lacking:
            raise Refused(origin.only_from_python(run, lacking))
        if spec is None:
            joined = origin.spec_in(folder, given.tables(), given.code())
        else:
            joined = given.spec(folder, spec)
        filled = _filled(extra, given, joined)
        return joined, filled if given.artifact is not None else replace(filled, start=origin.start)

    root = folder.parent if folder.is_file() else folder
    return resume_run(root, run, add_budget=add_budget, renew=renew)


def _in_python(text: str) -> str:
    """Return a refusal with the arguments that stand for the options it names."""
    for option, argument in _AS_ARGUMENTS.items():
        text = re.sub(option, argument, text)
    return text
