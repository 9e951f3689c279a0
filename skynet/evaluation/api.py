"""`skynet.check` for Python and notebooks: it builds one project from files, functions and rows, and checks it."""

from __future__ import annotations

from pathlib import Path

from skynet.artifact import Artifact
from skynet.evaluation.arguments import Arguments, Start, Table, UserCode, has_spec, require_whole
from skynet.evaluation.check_project import check_project
from skynet.evaluation.given_cases import Cases, whole_dataset
from skynet.evaluation.project import Project
from skynet.evaluation.stages import CheckResult
from skynet.spec import Spec

_NEEDED = ("metric", "task", "cases")


def check(
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
) -> CheckResult:
    """Run the contract check and return its result, which shows itself in a notebook.

    The arguments are those of `optimize`, so that one dict of them serves both; engine and budget change nothing here.
    Without `skynet.toml`, and without an artifact, the target runs with an empty text. Raises SpecError, DataError or
    another SkynetError.
    """
    folder = Path(project)
    given = Arguments(
        artifact=artifact, objective=objective, metric=metric, target=target, cases=cases, data=data, engine=engine,
        models=models, budget=budget,
    )  # fmt: skip
    require_whole(folder, spec, given, _NEEDED)
    bare = spec is None and not has_spec(folder)
    joined = given.spec(folder, spec, ("artifact.path",) if bare else ())
    dataset = None if cases is None else whole_dataset(cases, joined.data)
    start = given.start(joined) or (Artifact("text", "") if bare else None)
    with Project(joined, functions=given.functions, dataset=dataset, start=start) as opened:
        return check_project(opened)
