"""Free-form values as strict JSON: no bare NaN, string keys, and a text for anything that JSON has no form for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import Enum
from typing import Annotated, Any

from pydantic import BaseModel, PlainSerializer

NAN, INFINITY = "NaN", "Infinity"


def strict_json(value: Any) -> Any:
    """Return `value` as strict JSON. NaN and the infinities become the texts NaN, Infinity and -Infinity."""
    if isinstance(value, Enum):
        return strict_json(value.value)
    if isinstance(value, float) and not math.isfinite(value):
        return NAN if math.isnan(value) else INFINITY if value > 0 else f"-{INFINITY}"
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, BaseModel):
        return strict_json(value.model_dump(mode="json"))
    if isinstance(value, Mapping):
        return {str(key): strict_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [strict_json(item) for item in value]
    return str(value)


Loose = Annotated[Any, PlainSerializer(strict_json, when_used="json")]
LooseDict = Annotated[dict[str, Any], PlainSerializer(strict_json, when_used="json")]
