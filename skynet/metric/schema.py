"""The `schema` of `llm`: a pydantic model, or the part of JSON Schema checked here; other keywords are refused."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from skynet.errors import SkynetError, nearest
from skynet.metric.show import show

_NOTES = {"$schema", "$id", "$comment", "title", "description", "default", "examples"}  # say nothing about validity
_TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "number": (int, float),
    "integer": (int, float),
    "boolean": bool,
    "null": type(None),
}
_FENCE = re.compile(r"\s*```[\w-]*[^\S\n]*\n(.*?)\n?[^\S\n]*```\s*", re.DOTALL)


class Mismatch(ValueError):
    """A reply that does not fit the schema; the text says where."""


class Schema:
    """A checked `schema` argument: `json` is what the model is asked for, `read` makes the object of a reply."""

    def __init__(self, given: object) -> None:
        """Raises SkynetError when `given` is no pydantic model class and no JSON Schema of the supported part."""
        anything: Any = given
        self._model = anything if isinstance(given, type) and hasattr(given, "model_validate_json") else None
        if self._model is not None:
            self.json: dict[str, Any] = self._model.model_json_schema()
            return
        if not isinstance(given, dict):
            raise SkynetError(f"`schema` must be a pydantic model class or a JSON Schema dict; it is {show(given)}.")
        _check_keywords(given, "schema")
        self.json = given

    def read(self, reply: str) -> Any:
        """Return the validated object of `reply`; one code fence around it is taken off. Raises Mismatch."""
        fenced = _FENCE.fullmatch(reply)
        text = fenced.group(1) if fenced else reply
        if self._model is not None:
            try:
                return self._model.model_validate_json(text)
            except ValueError as error:  # pydantic's ValidationError is one
                raise Mismatch(str(error)) from error
        try:
            value = json.loads(text, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            raise Mismatch(f"it is not JSON: {error}") from error
        _check(value, self.json, "the reply")
        return value


def _refuse_constant(word: str) -> float:
    raise ValueError(f"{word} is not JSON")


def _check_keywords(schema: object, where: str) -> None:
    """Refuse, before a model is asked, what `_check` would pass over."""
    if not isinstance(schema, dict):
        raise SkynetError(f"{where} must be a dict; it is {show(schema)}.")
    for keyword, value in schema.items():
        if keyword in _NOTES:
            continue
        if keyword not in _CHECKS:
            hint = nearest(str(keyword), _CHECKS)
            raise SkynetError(
                f"{where} has the keyword {show(keyword)}, which is not supported.{hint} "
                f"Supported: {', '.join(_CHECKS)}. For more, give a pydantic model class as `schema`."
            )
        _check_keyword_value(keyword, value, f"{where}.{keyword}")


def _check_keyword_value(keyword: str, value: Any, where: str) -> None:
    if keyword == "type":
        for name in value if isinstance(value, list) else [value]:
            if name not in _TYPES:
                raise SkynetError(f"{where} is {show(name)}. It must be one of {', '.join(_TYPES)}.")
    elif keyword == "properties":
        if not isinstance(value, dict):
            raise SkynetError(f"{where} must be a dict; it is {show(value)}.")
        for name, part in value.items():
            _check_keywords(part, f"{where}.{name}")
    elif keyword == "items" or (keyword == "additionalProperties" and not isinstance(value, bool)):
        _check_keywords(value, where)
    elif keyword in ("enum", "required") and not isinstance(value, list):
        raise SkynetError(f"{where} must be a list; it is {show(value)}.")
    elif keyword in _BOUNDS and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise SkynetError(f"{where} must be a number; it is {show(value)}.")


def _check(value: Any, schema: dict[str, Any], where: str) -> None:
    for keyword, wanted in schema.items():
        if keyword in _CHECKS:
            _CHECKS[keyword](value, wanted, schema, where)


def _type(value: Any, wanted: Any, schema: dict[str, Any], where: str) -> None:
    names = wanted if isinstance(wanted, list) else [wanted]
    if not any(_is_of(value, name) for name in names):
        raise Mismatch(f"{where} must be of type {' or '.join(names)}; it is {show(value)}")


def _is_of(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    if name == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES[name])


def _enum(value: Any, wanted: Any, schema: dict[str, Any], where: str) -> None:
    if not any(_same(value, one) for one in wanted):
        raise Mismatch(f"{where} must be one of {json.dumps(wanted, ensure_ascii=False)}; it is {show(value)}")


def _const(value: Any, wanted: Any, schema: dict[str, Any], where: str) -> None:
    _enum(value, [wanted], schema, where)


def _same(one: Any, other: Any) -> bool:
    """Equality of JSON, where true is not 1."""
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def _required(value: Any, wanted: Any, schema: dict[str, Any], where: str) -> None:
    missing = [name for name in wanted if isinstance(value, dict) and name not in value]
    if missing:
        raise Mismatch(f"{where} lacks {', '.join(map(repr, missing))}")


def _properties(value: Any, wanted: Any, schema: dict[str, Any], where: str) -> None:
    for name, part in wanted.items():
        if isinstance(value, dict) and name in value:
            _check(value[name], part, f"{where}.{name}")


def _additional(value: Any, wanted: Any, schema: dict[str, Any], where: str) -> None:
    if not isinstance(value, dict) or wanted is True:
        return
    for name in value.keys() - schema.get("properties", {}).keys():
        if wanted is False:
            raise Mismatch(f"{where} has {name!r}, which the schema does not name")
        _check(value[name], wanted, f"{where}.{name}")


def _items(value: Any, wanted: Any, schema: dict[str, Any], where: str) -> None:
    for index, item in enumerate(value if isinstance(value, list) else ()):
        _check(item, wanted, f"{where}[{index}]")


_Bound = tuple[type | tuple[type, ...], Callable[[Any, Any], bool], str]
_BOUNDS: dict[str, _Bound] = {
    "minimum": ((int, float), lambda value, bound: value >= bound, "at least {}"),
    "maximum": ((int, float), lambda value, bound: value <= bound, "at most {}"),
    "minLength": (str, lambda value, bound: len(value) >= bound, "at least {} characters long"),
    "maxLength": (str, lambda value, bound: len(value) <= bound, "at most {} characters long"),
    "minItems": (list, lambda value, bound: len(value) >= bound, "a list of at least {}"),
    "maxItems": (list, lambda value, bound: len(value) <= bound, "a list of at most {}"),
}


def _bound(keyword: str) -> Callable[[Any, Any, dict[str, Any], str], None]:
    kind, holds, words = _BOUNDS[keyword]

    def check(value: Any, wanted: Any, schema: dict[str, Any], where: str) -> None:
        if isinstance(value, kind) and not isinstance(value, bool) and not holds(value, wanted):
            raise Mismatch(f"{where} must be {words.format(wanted)}; it is {show(value)}")

    return check


_CHECKS: dict[str, Callable[[Any, Any, dict[str, Any], str], None]] = {
    "type": _type,
    "enum": _enum,
    "const": _const,
    "required": _required,
    "properties": _properties,
    "additionalProperties": _additional,
    "items": _items,
    **{keyword: _bound(keyword) for keyword in _BOUNDS},
}
