"""What a run was started from beside its files, as its row keeps it: a resume begins with the same."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from skynet.artifact import Artifact
from skynet.spec import Spec, load_spec, parse_spec
from skynet.spec.load import merged


@dataclass(frozen=True, slots=True)
class Origin:
    """`tables` win over the spec file, or `spec` stands in for it (None where there is a file).

    `start` is a start version that no file holds. `only_python` names what cannot be stored: functions would have to be
    unpickled by whoever resumes, and rows may be large; both stay with the one who gave them.
    """

    tables: Mapping[str, Any] = field(default_factory=dict)
    spec: Mapping[str, Any] | None = None
    start: Artifact | None = None
    only_python: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return it as the row keeps it."""
        start = None if self.start is None else {"kind": self.start.kind, "content": self.start.content}
        return {
            "given": _plain(self.tables),
            "spec": self.spec,
            "start": start,
            "only_python": list(self.only_python),
        }

    @classmethod
    def from_json(cls, state: Mapping[str, Any]) -> Origin:
        """Return what `to_json` put into a row's state."""
        start = state.get("start")
        return cls(
            state.get("given", {}),
            state.get("spec"),
            None if start is None else Artifact(start["kind"], start["content"]),
            tuple(state.get("only_python", ())),
        )

    def only_from_python(self, run: str, lacking: Sequence[str]) -> str:
        """Return why the run cannot go on without what is lacking of `only_python`, and how it can."""
        arguments = "".join(f"{name}=..., " for name in lacking)
        return (
            f"run {run} was started from Python with {' and '.join(lacking)} given there, and functions and rows are "
            f'not in its store. Go on from Python, with the same ones: skynet.optimize({arguments}resume="{run}")'
        )

    def spec_in(self, root: Path, more: Mapping[str, Any] | None = None, code: Collection[str] = ()) -> Spec:
        """Return the run's spec as it is now: its file is read again. `more` and `code` as for `load_spec`."""
        code = (*code, *(("artifact.path",) if self.start is not None else ()))
        if self.spec is None:
            return load_spec(root, merged(self.tables, more or {}), code)
        return parse_spec(merged(self.spec, more or {}), root, code=code)


def as_written(spec: Spec) -> dict[str, Any]:
    """Return the spec as a dict that can be stored, and read like a file: nothing stands in it that was not given."""
    written = spec.model_dump(exclude={"root"}, exclude_unset=True)
    return {name: _plain(value) for name, value in written.items() if value is not None and value != {}}


def _plain(value: Any) -> Any:
    """Return a value of a table as JSON holds it."""
    if isinstance(value, BaseModel):
        return _plain(value.model_dump(exclude_unset=True))
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return float(value) if isinstance(value, Decimal) else value  # a fraction of rows, whose shortest text is read
