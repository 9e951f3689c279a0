"""Finding engines: the entry-point group `skynet.engines`, their options, and whether they can run here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, cast

from skynet.engine import Engine
from skynet.errors import SkynetError, nearest
from skynet.spec import EngineSpec

GROUP = "skynet.engines"


class EngineError(SkynetError):
    """An engine, or an option of it, that cannot be used."""


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """One registered engine. `problem` says why it cannot run here, None when it can."""

    name: str
    package: str
    version: str
    description: str
    options: dict[str, str]
    problem: str | None

    def to_json(self) -> dict[str, Any]:
        """Return the fields as strict JSON values."""
        return {
            "name": self.name, "package": self.package, "version": self.version, "description": self.description,
            "options": self.options, "problem": self.problem,
        }  # fmt: skip


@cache
def _registered() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}


def load_engine(name: str) -> Engine:
    """Return a new engine. Raises EngineError for an unknown name or one whose package does not load."""
    points = _registered()
    if name not in points:
        known = ", ".join(sorted(points)) or "none"
        raise EngineError(f"there is no engine {name!r}.{nearest(name, points)} Installed engines: {known}")
    try:
        return cast(Engine, points[name].load()())
    except Exception as error:  # a plugin may fail in any way while it is imported
        raise EngineError(
            f"the engine {name!r} of {package_of(name)['package']} does not load: {type(error).__name__}: {error}"
        ) from error


def package_of(name: str) -> dict[str, str]:
    """Return package and version of a registered engine."""
    dist = _registered()[name].dist if name in _registered() else None
    return {"package": dist.name if dist else "?", "version": dist.version if dist else "?"}


def engine_options(engine: Engine, spec: EngineSpec) -> Any:
    """Return the engine's checked options. Raises EngineError naming the option, its value and what would be right."""
    from pydantic import ValidationError

    given: dict[str, Any] = dict(spec.options)
    fields = _fields(engine)
    if "labels" in fields:
        given["labels"] = spec.labels
    elif spec.labels:
        raise EngineError(f"[engine] labels: the engine {spec.name!r} does not use labels; leave labels out")
    if spec.optimizer is not None:
        given["optimizer"] = spec.optimizer
    try:
        return engine.Options(**given)
    except ValidationError as error:
        raise EngineError("\n".join(_told(spec.name, detail, fields) for detail in error.errors())) from None


def _told(engine: str, detail: Mapping[str, Any], fields: Mapping[str, Any]) -> str:
    key = ".".join(str(part) for part in detail["loc"])
    if detail["type"] == "extra_forbidden":
        known = ", ".join(fields) or "none"
        return f"[engine] {key}: the engine {engine!r} has no such option.{nearest(key, fields)} Its options: {known}"
    return f"[engine] {key}: {detail['msg']}; it got {detail['input']!r}"


def _fields(engine: Engine) -> dict[str, Any]:
    return dict(getattr(engine.Options, "model_fields", {}))


def list_engines() -> list[EngineInfo]:
    """Return every registered engine, also those that cannot run here."""
    return [_info(point) for _, point in sorted(_registered().items())]


def _info(point: EntryPoint) -> EngineInfo:
    package, version = package_of(point.name).values()
    try:
        engine = load_engine(point.name)
    except EngineError as error:
        return EngineInfo(point.name, package, version, "", {}, str(error))
    described = (type(engine).__doc__ or "").strip().splitlines()
    options = {name: _option(field) for name, field in _fields(engine).items()}
    return EngineInfo(point.name, package, version, described[0] if described else "", options, None)


def _option(field: Any) -> str:
    kind = field.annotation.__name__ if isinstance(field.annotation, type) else str(field.annotation)
    default = "required" if field.is_required() else f"default {field.get_default(call_default_factory=True)!r}"
    described = f"; {field.description}" if field.description else ""
    return f"{kind.replace('typing.', '')}, {default}{described}"
