"""A copy of a metric object for each case, so that nothing of one case stays for the next."""

from __future__ import annotations

import copy
from typing import Any


def fresh(metric: Any) -> Any:
    """Return a copy with copies of its attributes. What cannot be copied, such as a client or a lock, is shared."""
    try:
        twin = copy.copy(metric)
    except Exception:  # noqa: BLE001 - an object of another tool may refuse in its own way; it is shared as it is
        return metric
    if twin is metric:  # a function
        return metric
    for name, value in list(getattr(metric, "__dict__", {}).items()):
        try:
            twin.__dict__[name] = copy.deepcopy(value)
        except Exception:  # noqa: BLE001 - one attribute that cannot be copied is shared
            twin.__dict__[name] = value
    return twin
