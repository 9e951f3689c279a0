"""What is wrong with a spec, said so that the reader can mend it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args, get_origin

from skynet.errors import SkynetError, nearest
from skynet.spec import rows
from skynet.spec.fields import Section
from skynet.spec.models import Document

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo
    from pydantic_core import ErrorDetails

_SECRET = re.compile(r"api_?key|secret|passw|authori[sz]ation|^(key|token|headers|env)$", re.IGNORECASE)
_LONGEST_VALUE = 100


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: the dotted key, the value as text ("" when there is none or it may be secret), what would be right.

    The key is "" where the whole file is at fault.
    """

    key: str
    value: str
    message: str

    def __str__(self) -> str:
        if not self.key:
            return self.message
        return f"{self.key} = {self.value}: {self.message}" if self.value else f"{self.key}: {self.message}"


class SpecError(SkynetError):
    """A spec that cannot be used; `faults` holds each fault, the text one line per fault, all naming the file."""

    def __init__(self, file: str, faults: Iterable[Fault]) -> None:
        self.file = file
        self.faults = tuple(faults)
        super().__init__("\n".join(f"{file}: {fault}" for fault in self.faults))


def shown(value: Any) -> str:
    """Return `value` about as TOML writes it, on one line and cut to about 100 characters."""
    text = json.dumps(_masked(value), ensure_ascii=False, default=str)
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text if len(text) <= _LONGEST_VALUE else text[:_LONGEST_VALUE] + " ..."


def _masked(value: Any) -> Any:
    """Hide what may be a secret inside a table."""
    if isinstance(value, dict):
        return {str(key): "..." if is_secret(str(key)) else _masked(part) for key, part in value.items()}
    return [_masked(part) for part in value] if isinstance(value, list | tuple) else value


def is_secret(name: str) -> bool:
    """Whether a key of this name may hold a secret."""
    return _SECRET.search(name) is not None


def fault(key: str, value: Any, message: str) -> Fault:
    """Return a fault whose value is left out where the key says that it may be a secret."""
    secret = any(is_secret(part) for part in re.split(r"[.\[]", key))
    return Fault(key, "" if secret else shown(value), message)


def shape_fault(error: ErrorDetails, document: type[Section] = Document) -> Fault:
    """Turn one of pydantic's errors into a fault; `document` is the whole file that was checked."""
    loc = [part for part in error["loc"] if part != "[key]"]
    key = _dotted(loc)
    section, field = _locate(loc, document)
    if error["type"] == "extra_forbidden":
        return fault(key, error["input"], _unknown_key(str(loc[-1]), section))
    if error["loc"] and error["loc"][-1] == "[key]":
        known = _quoted(error)
        hint = nearest(str(loc[-1]), known)
        return Fault(key, "", f"no such key.{hint} Valid keys here: {', '.join(known)}.")
    if error["type"] == "value_error":
        return fault(key, error["input"], f"{error['ctx']['error']}.")
    right = field.description if field is not None and field.description else error["msg"]
    if error["type"] == "missing":
        return Fault(key, "", f"is missing; it should be {right}.")
    hint = nearest(str(error["input"]), _quoted(error)) if error["type"] == "literal_error" else ""
    return fault(key, error["input"], f"should be {right}.{hint}")


def _quoted(error: ErrorDetails) -> list[str]:
    """Return the allowed values that pydantic lists in a literal's error."""
    return re.findall(r"'([^']*)'", str(error.get("ctx", {}).get("expected", "")))


def _unknown_key(name: str, section: type[Section]) -> str:
    known = list(section.model_fields)
    hint = nearest(name, known)
    if not hint and name in Document.model_fields:
        hint = " It belongs at the top of the file, before the first [section]."
    if not hint:
        homes = [f"[{home}]" for home, field in Document.model_fields.items() if name in _keys(field)]
        hint = f" It belongs in {' or '.join(homes)}." if homes else ""
    return f"no such key.{hint} Valid keys here: {', '.join(known)}."


def _keys(field: FieldInfo) -> set[str]:
    return {key for section in _sections(field.annotation) for key in section.model_fields}


def _sections(annotation: Any) -> list[type[Section]]:
    """Return the section classes inside an annotation, through unions and `Annotated`."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return [annotation]
    return [section for part in get_args(annotation) for section in _sections(part)]


def _locate(loc: Sequence[int | str], document: type[Section]) -> tuple[type[Section], FieldInfo | None]:
    """Return the innermost section on the way to `loc`, and the last field met."""
    section = document
    field: FieldInfo | None = None
    named = False  # the part is a name of the user's, as in [eval.metrics.NAME]
    for part in loc:
        if isinstance(part, str) and part.startswith("<"):
            section = getattr(rows, part.strip("<>"))
            continue
        if named:
            named = False
            continue
        fields = {one.alias or name: one for name, one in section.model_fields.items()}
        if not isinstance(part, str) or part not in fields:
            break
        field = fields[part]
        inner = _sections(field.annotation)
        if not inner:
            break
        section, named = inner[0], get_origin(field.annotation) is dict
    return section, field


def _dotted(loc: Sequence[int | str]) -> str:
    """Join a location as TOML would: `target.env[0]`, `data."odd key"`."""
    text = ""
    for part in loc:
        if isinstance(part, int):
            text += f"[{part}]"
        elif not part.startswith("<"):
            name = part if re.fullmatch(r"[A-Za-z0-9_-]+", part) else json.dumps(part, ensure_ascii=False)
            text += f".{name}" if text else name
    return text
