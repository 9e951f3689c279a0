"""Rules that join sections of a spec, and the files that it names."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from skynet.errors import nearest
from skynet.spec.faults import Fault, fault
from skynet.spec.jobs import EvalSpec
from skynet.spec.models import Spec
from skynet.spec.rows import ColumnSplit, DataSpec, PathSplit

# What each kind of target reads besides kind and timeout, and what it cannot do without.
_TARGET_KEYS = {
    "chat": {"choices"},
    "python": {"path", "env"},
    "http": {"url", "method", "headers", "body", "answer", "trajectory", "cost"},
    "command": {"argv", "env"},
    "code": {"env"},
    "dspy": {"env"},
}
_TARGET_NEEDS = {
    "python": ("path", "name the Python file with run(artifact, input)"),
    "http": ("url", "name the address that answers"),
    "command": ("argv", 'name the program and its arguments, such as ["./agent", "{artifact}"]'),
}


_ARTIFACT = re.compile(r"\{\{\s*artifact\b")


def broken_rules(spec: Spec, code: Collection[str] = ()) -> Iterator[Fault]:
    """Yield each combination of keys that makes no sense, and each named file that is not there.

    The paths that `code` names stand for functions and rows, not for files.
    """
    yield from _artifact(spec, code)
    yield from _target(spec)
    yield from _artifact_place(spec)
    yield from _metric(spec)
    if spec.data is not None:
        yield from _columns(spec.data)
        in_eval = spec.eval is not None and spec.eval.rows is not None
        yield from _split(spec.data, rows_given=in_eval or "data.path" in code)
    if spec.eval is not None:
        yield from _eval(spec.eval)
    yield from _files(spec, code)


def _artifact(spec: Spec, code: Collection[str]) -> Iterator[Fault]:
    artifact = spec.artifact
    if "entry" in artifact.model_fields_set and artifact.kind != "code":
        message = f"only a code artifact has an entry; artifact.kind is {artifact.kind}."
        yield fault("artifact.entry", artifact.entry, message)
    if artifact.path is not None or "artifact.path" in code:
        return
    if artifact.kind == "dspy":
        yield Fault("artifact.path", "", 'is missing; name the file of the DSPy program, such as "program.py".')
    elif artifact.kind == "parts":
        yield Fault("artifact.path", "", "is missing; name the folder that holds one text file for each part.")
    elif not spec.objective.strip():
        message = "is missing; without it the first version is written from the objective, which is missing too."
        yield Fault("artifact.path", "", message)


def _target(spec: Spec) -> Iterator[Fault]:
    target, kind = spec.target, spec.artifact.kind
    own = kind if kind in ("code", "dspy") else None
    if own is not None and target.kind != own:
        yield fault("target.kind", target.kind, f"a {own} artifact is its own target; leave target.kind out.")
        return
    if own is None and target.kind in ("code", "dspy"):
        message = f"a {kind} artifact cannot run itself; should be chat, python, http or command."
        yield fault("target.kind", target.kind, message)
        return
    for key in sorted(target.model_fields_set - _TARGET_KEYS[target.kind] - {"kind", "timeout"}):
        takers = " or ".join(name for name, keys in _TARGET_KEYS.items() if key in keys)
        message = f"a target of kind {target.kind} takes no {key}; that is for kind {takers}."
        yield fault(f"target.{key}", getattr(target, key), message)
    key, advice = _TARGET_NEEDS.get(target.kind, ("kind", ""))
    if getattr(target, key) is None:
        yield Fault(f"target.{key}", "", f"is missing; a target of kind {target.kind} needs it: {advice}.")


def _artifact_place(spec: Spec) -> Iterator[Fault]:
    """Yield where a request or a command leaves the artifact out, so that no version could change anything."""
    target = spec.target
    if target.kind == "command" and target.argv is not None and "{artifact}" not in " ".join(target.argv):
        yield fault("target.argv", list(target.argv), 'leaves out "{artifact}", which stands for the artifact\'s file.')
    if target.kind != "http" or target.url is None:
        return
    if target.method == "GET" and target.body is not None:
        yield fault("target.body", target.body, "a GET request has no body; place the values in target.url.")
    elif target.method == "GET" and not _ARTIFACT.search(target.url):
        yield fault("target.url", target.url, "leaves out {{ artifact }}, and a GET request has no body.")
    elif target.body is not None and not _ARTIFACT.search(f"{target.body} {target.url}"):
        yield fault("target.body", target.body, "leaves out {{ artifact }}; put it where the agent takes its prompt.")


def _metric(spec: Spec) -> Iterator[Fault]:
    maximum, failure = spec.metric.maximum, spec.metric.failure_score
    name, path = spec.metric.name, spec.metric.path
    if name is not None and Path(path).parent != Path("metrics"):
        yield fault("metric.path", path, f"metric.name already names the metric {name!r}; keep one of the two.")
    if maximum is not None and failure is not None and failure >= maximum:
        yield fault("metric.failure_score", failure, f"should be below metric.maximum, which is {maximum:g}.")


def _columns(data: DataSpec) -> Iterator[Fault]:
    for name in data.inputs:
        if name in data.outputs:
            message = "is an input too: the target would be given the answer. Keep it in one of the two."
            yield fault("data.outputs", name, message)
    if data.group is not None and data.group == data.stratify:
        message = "is data.group too: a group stays in one split, so its value cannot be spread over several."
        yield fault("data.stratify", data.stratify, message)


def _eval(job: EvalSpec) -> Iterator[Fault]:
    if job.output is not None and job.prompt is not None:
        message = "eval.output names stored outputs already; keep one of the two."
        yield fault("eval.prompt", job.prompt, message)
    if job.rows is not None and job.split != "all":
        yield fault("eval.split", job.split, "eval.rows are in no split; leave it out.")


def _split(data: DataSpec, *, rows_given: bool) -> Iterator[Fault]:
    split = data.split
    if isinstance(split, PathSplit) and data.path is not None:
        yield fault("data.path", data.path, "data.split already names the files; keep one of the two.")
    if not isinstance(split, PathSplit) and data.path is None and not rows_given:
        yield Fault("data.path", "", "is missing; name a .csv, .json or .jsonl file, or give data.split paths.")
    for key, name in (("data.group", data.group), ("data.stratify", data.stratify)):
        if name is not None and isinstance(split, ColumnSplit | PathSplit):
            way = "a column" if isinstance(split, ColumnSplit) else "paths"
            message = f"works with fractions and counts only; data.split goes by {way}, which settles every row."
            yield fault(key, name, message)


def _files(spec: Spec, code: Collection[str]) -> Iterator[Fault]:
    yield from _file(spec, "artifact.path", spec.artifact.path, folder=spec.artifact.kind == "parts")
    if spec.target.kind == "python" and "target.path" not in code:
        yield from _file(spec, "target.path", spec.target.path)
    if "metric.path" not in code:
        yield from _file(spec, "metric.path", spec.metric.path)
    if spec.data is not None and "data.path" not in code:
        yield from _data_place(spec, "data.path", spec.data.path)
        if isinstance(spec.data.split, PathSplit):
            for name, path in spec.data.split:
                yield from _data_place(spec, f"data.split.{name}", path)


def _data_place(spec: Spec, key: str, path: str | None) -> Iterator[Fault]:
    """Yield where there is neither the file nor the folder; what follows # is looked for when the data is read."""
    if path is None or os.path.exists(spec.resolve(path)):
        return
    folder, mark, _ = path.partition("#")
    if not mark:
        yield from _file(spec, key, path)
    elif not os.path.isdir(spec.resolve(folder)):
        yield fault(key, path, f"there is no folder {folder!r}.")


def _file(spec: Spec, key: str, path: Any, *, folder: bool = False) -> Iterator[Fault]:
    if path is None:
        return
    full = spec.resolve(path)
    if os.path.isfile(full) or (folder and os.path.isdir(full)):
        return
    if os.path.isdir(full):
        yield fault(key, path, "is a folder; name a file.")
    elif not os.path.isdir(full.parent):
        yield fault(key, path, f"no such file: there is no folder {str(full.parent)!r}.")
    else:
        try:
            neighbours = os.listdir(full.parent)
        except PermissionError:
            yield fault(key, path, f"the folder {str(full.parent)!r} may not be read.")
            return
        yield fault(key, path, f"no such file in {str(full.parent)!r}.{nearest(full.name, neighbours)}")
