"""The scorers that are installed: Skynet's own, and those of other packages by the entry-point group skynet.scorers."""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from skynet.errors import nearest
from skynet.scorers.result import ScorerError

GROUP = "skynet.scorers"
PACKAGE = "skynet-optimizer"


@dataclass(frozen=True, slots=True)
class Option:
    """A parameter of a scorer beside what it looks at. `default` is as written in Python; None: it must be given."""

    name: str
    default: str | None


@dataclass(frozen=True, slots=True)
class ScorerInfo:
    """One line of `skynet scorers`. `version` is None where the package does not say one."""

    package: str
    version: str | None
    name: str
    description: str
    options: tuple[Option, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the fields as strict JSON values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Installed:
    """What was found, Skynet's own first, and one line for each plugin that could not be loaded."""

    scorers: tuple[ScorerInfo, ...]
    warnings: tuple[str, ...]


class _Broken(Exception):
    """A plugin that cannot be used; the text is one line."""


def installed_scorers() -> Installed:
    """Return every scorer that can be used. A broken plugin is a warning."""
    own = _own()
    infos = [_describe(PACKAGE, _version_of(PACKAGE), name, scorer) for name, scorer in own.items()]
    warnings: list[str] = []
    for point in sorted(entry_points(group=GROUP), key=lambda point: (_package(point), point.name)):
        try:
            infos.append(_describe_plugin(point, own))
        except _Broken as fault:
            warnings.append(str(fault))
    return Installed(tuple(infos), tuple(warnings))


def named(name: str) -> Callable[..., Any]:
    """Return the scorer of this name; `exact-match` is `exact_match`. Raises ScorerError, also for a broken plugin."""
    own = _own()
    if name.replace("-", "_") in own:
        return own[name.replace("-", "_")]
    points = list(entry_points(group=GROUP))
    for point in points:
        if point.name == name:
            try:
                return _loaded(point, own)
            except _Broken as fault:
                raise ScorerError(str(fault)) from fault
    known = [*own, *(point.name for point in points)]
    raise ScorerError(f"There is no scorer {name!r}; there are {', '.join(known)}.{nearest(name, known)}")


def _own() -> dict[str, Callable[..., Any]]:
    from skynet import scorers  # this module is one of its parts

    return {name: getattr(scorers, name) for name in scorers.SCORERS}


def _loaded(point: EntryPoint, own: dict[str, Callable[..., Any]]) -> Callable[..., Any]:
    """Import a plugin. What it prints goes to stderr, so that no command's output is spoilt. Raises _Broken."""
    where = f"The scorer {point.name!r} of the package {_package(point)} is left out"
    if point.name.replace("-", "_") in own:
        raise _Broken(f"{where}: Skynet has a scorer of this name.")
    try:
        with contextlib.redirect_stdout(sys.stderr):
            loaded = point.load()
    except (Exception, SystemExit) as error:  # another's code: it may raise anything
        raise _Broken(f"{where}: {_one_line(error)}") from error
    if not callable(loaded):
        raise _Broken(f"{where}: {point.value} is of type {type(loaded).__name__}, not a function or a class.")
    return loaded  # type: ignore[no-any-return]


def _one_line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]


def _describe_plugin(point: EntryPoint, own: dict[str, Callable[..., Any]]) -> ScorerInfo:
    version = None if point.dist is None else point.dist.version
    return _describe(_package(point), version, point.name, _loaded(point, own))


def _describe(package: str, version: str | None, name: str, scorer: Callable[..., Any]) -> ScorerInfo:
    description = (inspect.getdoc(scorer) or "").partition("\n\n")[0]
    return ScorerInfo(package, version, name, " ".join(description.split()), tuple(_options(scorer)))


def _options(scorer: Callable[..., Any]) -> Iterator[Option]:
    try:
        parameters = list(inspect.signature(scorer).parameters.values())
    except (TypeError, ValueError):
        return  # a builtin without a readable signature has no options to name
    skipped = 0 if isinstance(scorer, type) else 1  # a function's first parameter is what it looks at
    for parameter in parameters[skipped:]:
        if parameter.kind not in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            required = parameter.default is inspect.Parameter.empty
            yield Option(parameter.name, None if required else repr(parameter.default))


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.value.partition(".")[0]


def _version_of(package: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:  # run from a source tree that is not installed
        return None
