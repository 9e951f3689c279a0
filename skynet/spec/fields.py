"""The base of every section and the field types that several sections share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

_UNITS = {"B": 1, "KIB": 1024, "MIB": 1024**2, "GIB": 1024**3}


class Section(BaseModel):
    """A table of the file: no unknown keys, no conversion between types, no change after reading.

    A field's description says what a right value is; it becomes the second half of an error message.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


def gathered_options(section: type[Section], value: Any) -> Any:
    """Move the keys of a table that are no fields of `section` into its `options`."""
    if not isinstance(value, dict):
        return value
    own = {key: part for key, part in value.items() if key in section.model_fields}
    rest = {key: part for key, part in value.items() if key not in section.model_fields}
    if rest and isinstance(own.get("options", {}), dict):
        own["options"] = {**own.get("options", {}), **rest}
    return own


def _path(text: str) -> str:
    if not text or "\0" in text:
        raise ValueError("a path is a text of at least one character, without NUL")
    return text


def _variable(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ValueError("write the name of an environment variable, never its value")
    return name


def _size(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    match = re.fullmatch(r"(\d{1,15})\s*([KMG]?i?B)", value.strip(), re.IGNORECASE | re.ASCII)
    unit = _UNITS.get(match[2].upper()) if match else None
    if match is None or unit is None:
        raise ValueError('a size is a number of bytes, or a text such as "64 KiB", "4 MiB", "4 GiB"')
    return int(match[1]) * unit


def array(value: Any) -> Any:
    """Turn a list into the tuple that frozen sections hold."""
    return tuple(value) if isinstance(value, list) else value


def unlike(values: Sequence[str]) -> Sequence[str]:
    """Return `values`; raise ValueError when one of them occurs twice."""
    for value in values:
        if values.count(value) > 1:
            raise ValueError(f"{value!r} is named twice")
    return values


PathText = Annotated[str, AfterValidator(_path)]
VariableName = Annotated[str, AfterValidator(_variable)]
Bytes = Annotated[int, BeforeValidator(_size), Field(gt=0)]
Texts = Annotated[tuple[str, ...], BeforeValidator(array)]
Names = Annotated[tuple[str, ...], BeforeValidator(array), AfterValidator(unlike)]
Variables = Annotated[tuple[VariableName, ...], BeforeValidator(array), AfterValidator(unlike)]
Timeout = Annotated[float, Field(gt=0, le=600, description="a number of seconds above 0 and at most 600")]
