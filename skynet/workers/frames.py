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
REPLY_LEVELS = 200  # how deeply what a worker says may be nested
_LEVELS = REPLY_LEVELS + 10  # of anything else: the host puts a worker's values into orders and records of its own
_JSON_INT_BITS = 14_000  # Python refuses decimal integers above 4,300 digits; longer ones cross as hexadecimal
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


class _TooDeep(Exception):
    """A value holds containers in containers without end, or nearly."""


def pack(value: Any, levels: int = _LEVELS) -> Any:
    """Return `value` in terms that JSON carries exactly. Raises Unsupported with the type and path of what cannot.

    `levels` is how many containers may lie in one another.
    """
    try:
        return _pack(value, levels)
    except (_TooDeep, RecursionError):
        raise Unsupported(f"it is nested more than {levels} levels deep, or holds itself") from None


def _pack(value: Any, room: int) -> Any:
    kind = type(value)
    if kind is str or kind is float or kind is bool or value is None:
        return value
    if kind is int:
        return value if value.bit_length() <= _JSON_INT_BITS else {"$int": hex(value)}
    if isinstance(value, dict):
        return _pack_dict(value, room - 1)
    if isinstance(value, list | tuple):
        items = _pack_items(value, room - 1)
        return {"$tuple": items} if isinstance(value, tuple) else items
    return _pack_scalar(value, room)


def _pack_items(value: list[Any] | tuple[Any, ...], room: int) -> list[Any]:
    if room < 0:
        raise _TooDeep
    items: list[Any] = []
    for item in value:
        try:
            items.append(_pack(item, room))
        except Unsupported as fault:
            raise fault.under(f"[{len(items)}]") from None
    return items


def _pack_dict(value: dict[Any, Any], room: int) -> Any:
    if room < 0:
        raise _TooDeep
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
            packed[key] = _pack(item, room)
        except Unsupported as fault:
            raise fault.under(f"[{key!r}]") from None
    return packed if plain else {"$dict": [[key, item] for key, item in packed.items()]}


def _pack_scalar(value: Any, room: int) -> Any:
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, int):
        return _pack(int(value), room)
    if isinstance(value, bytes):
        return {"$bytes": base64.b64encode(value).decode("ascii")}
    if isinstance(value, datetime):
        return {"$datetime": [value.isoformat(), value.fold]}
    if isinstance(value, date):
        return {"$date": value.isoformat()}
    if isinstance(value, Decimal):
        return {"$decimal": str(value)}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _pack({field.name: getattr(value, field.name) for field in dataclasses.fields(value)}, room)
    if hasattr(value, "model_dump") and not isinstance(value, type):
        return _pack(value.model_dump(), room)
    raise Unsupported(f"a value of type {_name(value)}")


def _name(value: Any) -> str:
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


_READERS: dict[str, Any] = {
    "$bytes": lambda body: base64.b64decode(body, validate=True),
    "$datetime": lambda body: datetime.fromisoformat(body[0]).replace(fold=body[1]),
    "$date": date.fromisoformat,
    "$decimal": Decimal,
    "$int": lambda body: int(body, 16),
}


def unpack(value: Any, levels: int = _LEVELS) -> Any:
    """Return the value that `pack` was given (dataclasses and pydantic models come back as dicts).

    Raises ValueError, or what a tag's reader raises, for what `pack` never makes.
    """
    if not isinstance(value, list | dict):
        return value
    if levels <= 0:
        raise ValueError("it is nested too deeply")
    if isinstance(value, list):
        return [unpack(item, levels - 1) for item in value]
    if len(value) == 1:
        (key, body) = next(iter(value.items()))
        if key.startswith("$"):
            return _unpack_tagged(key, body, levels - 1)
    return {key: unpack(item, levels - 1) for key, item in value.items()}


def _unpack_tagged(key: str, body: Any, room: int) -> Any:
    if key == "$tuple":
        return tuple([unpack(item, room) for item in body])
    if key == "$dict":
        return {_dict_key(name): unpack(item, room) for name, item in body}
    return _READERS[key](body)


def _dict_key(key: Any) -> str | int:
    if type(key) is not str and type(key) is not int:
        raise ValueError(f"a dict key of type {_name(key)}")
    return key


def encode(message: dict[str, Any]) -> bytes:
    """Return the frame of a message whose values are packed already."""
    body = _ENCODER.encode(message).encode("ascii")
    return HEADER.pack(len(body)) + body


def decode(body: bytes, levels: int = _LEVELS) -> dict[str, Any]:
    """Return the message in a frame's body, values unpacked. Raises ValueError on what `encode` never makes.

    `levels` is how deeply the message's values may be nested.
    """
    try:
        message = json.loads(body.decode("ascii"))
        if b'"$' in body or body.count(b"[") + body.count(b"{") > levels:  # fewer brackets cannot be nested too deeply
            message = unpack(message, levels + 1)
    except (LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        raise ValueError(f"not a frame: {type(error).__name__}: {error}") from error
    if not isinstance(message, dict):
        raise ValueError("not a frame: not an object")
    return message
