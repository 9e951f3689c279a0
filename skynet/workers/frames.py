"""Values and messages between host and worker: tagged JSON in length-prefixed frames. Never a pickle.

JSON carries None, bool, int, float (NaN and infinity too), str (lone surrogates too), list and dict with string keys
as they are; everything else that may cross is a one-key object whose key starts with `$`.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import struct
from datetime import date, datetime
from decimal import Decimal
from typing import Any

HEADER = struct.Struct(">I")
_JSON_INT_BITS = 14_000  # Python refuses decimal integers above 4,300 digits; longer ones cross as hexadecimal
_DEEPEST = "it is nested too deeply, or holds itself"
_ENCODER = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"))  # json.dumps would make one for each frame


class Unsupported(ValueError):
    """A value that cannot cross between processes; the text names its type and its path."""

    def __init__(self, what: str, path: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.path = path

    def under(self, step: str) -> Unsupported:
        """Return the same fault seen from the container one level up."""
        return Unsupported(self.what, step + self.path)

    def __str__(self) -> str:
        return f"{self.what} at {self.path}" if self.path else self.what


def pack(value: Any) -> Any:
    """Return `value` in terms that JSON carries exactly. Raises Unsupported with the type and path of what cannot."""
    try:
        return _pack(value)
    except RecursionError:
        raise Unsupported(_DEEPEST) from None


def _pack(value: Any) -> Any:
    kind = type(value)
    if kind is str or kind is float or kind is bool or value is None:
        return value
    if kind is int:
        return value if value.bit_length() <= _JSON_INT_BITS else {"$int": hex(value)}
    if isinstance(value, dict):
        return _pack_dict(value)
    if isinstance(value, list | tuple):
        items = _pack_items(value)
        return {"$tuple": items} if isinstance(value, tuple) else items
    return _pack_scalar(value)


def _pack_items(value: list[Any] | tuple[Any, ...]) -> list[Any]:
    items: list[Any] = []
    for item in value:
        try:
            items.append(_pack(item))
        except Unsupported as fault:
            raise fault.under(f"[{len(items)}]") from None
    return items


def _pack_dict(value: dict[Any, Any]) -> Any:
    packed: dict[Any, Any] = {}
    plain = True
    for key, item in value.items():
        if not isinstance(key, str):
            if not isinstance(key, int) or isinstance(key, bool):
                raise Unsupported(f"a dict key of type {_name(key)} (keys are strings or ints)")
            plain = False
        elif key.startswith("$"):
            plain = False
        try:
            packed[key] = _pack(item)
        except Unsupported as fault:
            raise fault.under(f"[{key!r}]") from None
    return packed if plain else {"$dict": [[key, item] for key, item in packed.items()]}


def _pack_scalar(value: Any) -> Any:
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, int):
        return _pack(int(value))
    if isinstance(value, bytes):
        return {"$bytes": base64.b64encode(value).decode("ascii")}
    if isinstance(value, datetime):
        return {"$datetime": [value.isoformat(), value.fold]}
    if isinstance(value, date):
        return {"$date": value.isoformat()}
    if isinstance(value, Decimal):
        return {"$decimal": str(value)}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _pack({field.name: getattr(value, field.name) for field in dataclasses.fields(value)})
    if hasattr(value, "model_dump") and not isinstance(value, type):
        return _pack(value.model_dump())
    raise Unsupported(f"a value of type {_name(value)}")


def _name(value: Any) -> str:
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


_READERS: dict[str, Any] = {
    "$tuple": lambda body: tuple(unpack(item) for item in body),
    "$dict": lambda body: {key: unpack(item) for key, item in body},
    "$bytes": lambda body: base64.b64decode(body, validate=True),
    "$datetime": lambda body: datetime.fromisoformat(body[0]).replace(fold=body[1]),
    "$date": date.fromisoformat,
    "$decimal": Decimal,
    "$int": lambda body: int(body, 16),
}


def unpack(value: Any) -> Any:
    """Return the value that `pack` was given (dataclasses and pydantic models come back as dicts)."""
    if isinstance(value, list):
        return [unpack(item) for item in value]
    if isinstance(value, dict):
        if len(value) == 1:
            (key, body) = next(iter(value.items()))
            if key.startswith("$"):
                return _READERS[key](body)
        return {key: unpack(item) for key, item in value.items()}
    return value


def encode(message: dict[str, Any]) -> bytes:
    """Return the frame of a message whose values are packed already."""
    body = _ENCODER.encode(message).encode("ascii")
    return HEADER.pack(len(body)) + body


def decode(body: bytes) -> dict[str, Any]:
    """Return the message in a frame's body, values unpacked. Raises ValueError on what `encode` never makes."""
    try:
        message = json.loads(body.decode("ascii"))
        message = unpack(message) if b'"$' in body else message
    except (KeyError, TypeError, ArithmeticError, RecursionError) as error:
        raise ValueError(f"not a frame: {type(error).__name__}: {error}") from error
    if not isinstance(message, dict):
        raise ValueError("not a frame: not an object")
    return message
