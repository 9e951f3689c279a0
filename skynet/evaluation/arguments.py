"""What Python gives in place of a project's files: tables of the spec, functions, rows, the start version."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skynet.artifact import Artifact
from skynet.data.dataset import Dataset
from skynet.errors import SkynetError
from skynet.evaluation.given_cases import Cases, given_dataset
from skynet.evaluation.project import Functions
from skynet.spec import SPEC_NAME, Spec, load_spec, parse_spec
from skynet.spec.load import merged
from skynet.target.prompt import ROLES

UserCode = str | Path | Callable[..., Any]
Start = str | Mapping[str, str] | Path | Artifact
Table = Mapping[str, Any]

_CONTENT = {"text": "a text", "code": "Python source as a text", "parts": "a dict of texts by part"}
_OWN_TARGET = ("code", "dspy")
_WANTED = {
    "artifact": 'artifact="Sort the message.": the start version, a text; or objective="..." and '
    'models={"reflection": "..."}, by which the first one is written',
    "metric": 'metric=score: a function score(input, output, expected) that returns a number and {"feedback": "..."}, '
    "or its file",
    "task": 'models={"task": "openai/gpt-4.1-nano"}: what the prompt is run with; or target=run: a function '
    "run(artifact, input)",
    "cases": 'cases=rows, data={"inputs": ["message"], "outputs": ["team"]}: a list of dicts or a DataFrame, and '
    'which columns are which; cases=[{"input": {}}] where there is no input',
    "budget": 'budget=400: the most metric calls; or a table such as {"usd": 2.0}',
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The arguments that stand for parts of a project; None leaves what the spec says in force."""

    artifact: Start | None = None
    objective: str | None = None
    metric: UserCode | None = None
    target: UserCode | Table | None = None
    cases: Cases | None = None
    data: Table | None = None
    engine: str | Table | None = None
    models: Table | None = None
    budget: int | Table | None = None

    @property
    def functions(self) -> Functions:
        """The metric and the target where they are functions."""
        code = {"metric": self.metric, "target": self.target}
        return Functions(**{name: source for name, source in code.items() if callable(source)})

    def tables(self) -> dict[str, Any]:
        """Return what is given as tables of a spec."""
        tables: dict[str, Any] = {
            "objective": self.objective,
            "artifact": _artifact_table(self.artifact),
            "metric": None if self.metric is None else {"name": None, "path": _path_of(self.metric)},
            "target": self.target if isinstance(self.target, Mapping) else _target_table(self.target),
            "data": self.data,
            "engine": self.engine,
            "models": self.models,
            "budget": {"metric_calls": self.budget} if isinstance(self.budget, int) else self.budget,
        }
        return {name: value for name, value in tables.items() if value is not None}

    def code(self) -> list[str]:
        """Return the paths of a spec for which something else is given."""
        found = [f"{name}.path" for name in ("metric", "target") if callable(getattr(self, name))]
        found += ["data.path"] if self.cases is not None else []
        return found + (["artifact.path"] if _is_content(self.artifact) else [])

    def spec(
        self, folder: Path, spec: Spec | Table | None, unneeded: Sequence[str] = (), more: Table | None = None
    ) -> Spec:
        """Return the spec that stands in `folder`, or `spec` in place of it, with everything given put in.

        `unneeded` are paths that the spec may do without, `more` further tables. Raises SpecError, or SkynetError for
        a text that is a path.
        """
        tables, code = {**self.tables(), **(more or {})}, [*self.code(), *unneeded]
        _refuse_path(self.artifact, folder)
        if isinstance(spec, Spec):
            if tables:
                raise SkynetError(f"give {', '.join(tables)} inside the spec, or give the spec as a dict")
            return spec
        if spec is None and (has_spec(folder) or not tables):
            return load_spec(folder, tables, code)
        return parse_spec(_with_target(merged(spec or {}, tables)), folder, code=code)

    def dataset(self, spec: Spec) -> Dataset | None:
        """Return the given rows in their splits; None where the spec's data is in force. Raises SkynetError."""
        return None if self.cases is None else given_dataset(self.cases, spec.data)

    def start(self, spec: Spec) -> Artifact | None:
        """Return the given start version; None where the spec names its file, or none is there.

        Raises SkynetError where it is not what an artifact of the spec's kind holds.
        """
        given, kind = self.artifact, spec.artifact.kind
        if given is None or isinstance(given, Path):
            return None
        artifact = given if isinstance(given, Artifact) else Artifact(kind, _content(given))
        wanted = _CONTENT.get(kind)
        if wanted is None:
            raise SkynetError(f'a {kind} artifact is a file; give it as artifact=Path("program.py")')
        if isinstance(artifact.content, str) != (kind != "parts"):
            raise SkynetError(
                f"artifact is of type {type(artifact.content).__name__}, and [artifact] kind is {kind!r}: {wanted}"
            )
        if kind == "parts":
            _require_texts(artifact.content, chat=spec.target.kind == "chat")
        return artifact


def has_spec(folder: Path) -> bool:
    """Whether a project's folder, or its spec file, is named."""
    return folder.is_file() or (folder / SPEC_NAME).is_file()


def require_whole(folder: Path, spec: Spec | Table | None, given: Arguments, parts: Sequence[str]) -> None:
    """Raise SkynetError naming everything of `parts` that neither spec, nor folder, nor arguments hold.

    Only where no spec file is read: what a file lacks is told with its keys.
    """
    if isinstance(spec, Spec) or (spec is None and has_spec(folder)):
        return
    tables = merged(spec or {}, given.tables())
    lacking = [_WANTED[part] for part in _lacking(folder, tables, given, spec is None) if part in parts]
    if lacking:
        where = f"there is no {SPEC_NAME} in {folder.absolute()}, and the " if spec is None else "spec and "
        other = "\nor name the folder of a project" if spec is None else ""
        raise SkynetError(f"{where}arguments leave something out. Add:\n  " + "\n  ".join(lacking) + other)


def _with_target(tables: dict[str, Any]) -> dict[str, Any]:
    """Return the tables with a chat as the target, where they name none and the artifact needs one."""
    runs_itself = _table(tables.get("artifact")).get("kind") in _OWN_TARGET
    return tables if "target" in tables or runs_itself else {**tables, "target": {"kind": "chat"}}


def _lacking(folder: Path, tables: Table, given: Arguments, bare: bool) -> Iterator[str]:
    artifact, target, models = (_table(tables.get(name)) for name in ("artifact", "target", "models"))
    runs_itself = artifact.get("kind") in _OWN_TARGET
    chat = not runs_itself and target.get("kind", "chat") == "chat"
    described = bool(tables.get("objective")) and bool(models.get("reflection"))
    if given.artifact is None and artifact.get("path") is None and not described:
        yield "artifact"
    if "metric" not in tables and not (folder / "metric.py").is_file():
        yield "metric"
    if chat and models.get("task") is None:
        yield "task"
    if bare and chat and given.cases is None and "data" not in tables:
        yield "cases"
    if not _table(tables.get("budget")):
        yield "budget"


def _table(value: Any) -> Table:
    """Return a table as a mapping, whether it was given as a dict or as a section of a spec."""
    return value if isinstance(value, Mapping) else {} if value is None else dict(value)


def _path_of(source: UserCode) -> str:
    """Return the file of user code, or a function's name where no file stands for it."""
    return getattr(source, "__qualname__", type(source).__name__) if callable(source) else str(Path(source).absolute())


def _target_table(source: UserCode | None) -> Table | None:
    return None if source is None else {"kind": "python", "path": _path_of(source)}


def _artifact_table(given: Start | None) -> Table | None:
    """Return what the start version says of `[artifact]`; a text is of the kind that the spec names."""
    if given is None:
        return None
    if isinstance(given, Path):
        return {"path": str(given.absolute()), **({"kind": "parts"} if given.is_dir() else {})}
    if isinstance(given, Artifact):
        return {"kind": given.kind, "path": None}
    return {"kind": "parts", "path": None} if isinstance(given, Mapping) else {"path": None}


def _is_content(given: Start | None) -> bool:
    return given is not None and not isinstance(given, Path)


def _content(given: Any) -> Any:
    """Return a text or parts. Raises SkynetError for anything else."""
    if isinstance(given, str):
        return given
    if isinstance(given, Mapping):
        return dict(given)
    what = getattr(given, "__qualname__", type(given).__name__)
    raise SkynetError(
        f"{what} cannot be an artifact: give a text, a dict of texts by part, the Path of a file or a folder, or "
        'skynet.Artifact("code", source)'
    )


def _refuse_path(given: Start | None, folder: Path) -> None:
    """Raise SkynetError for a text that names a file: nobody wants the name optimized."""
    if not isinstance(given, str) or not given or len(given) > 255 or "\n" in given or "\0" in given:
        return
    root = folder.parent if folder.is_file() else folder
    if os.path.exists(given) or os.path.exists(root / given):
        raise SkynetError(f"artifact is the text itself, and {given!r} names a file; give artifact=Path({given!r})")


def _require_texts(content: Any, *, chat: bool) -> None:
    if not content:
        raise SkynetError('artifact has no part; give at least one, such as {"system": "Sort the message."}')
    for name, text in content.items():
        if not isinstance(name, str) or not isinstance(text, str):
            raise SkynetError(f"artifact: the part {name!r} is of type {type(text).__name__}; parts are texts by name")
        if chat and name not in ROLES:
            raise SkynetError(
                f"artifact: a chat target has no part {name!r}; its turns are {', '.join(ROLES)}. For other parts "
                "give a target=run, whose run(artifact, input) gets a dict of all parts"
            )
