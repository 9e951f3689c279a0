"""Short words for a value that came back from user code, safe for any value: its own `__repr__` is never called."""

from __future__ import annotations

_LONGEST = 60
_WIDEST_INT_BITS = 200  # beyond, the decimal digits say nothing and Python may refuse to write them


def show(value: object) -> str:
    """Return plain values as written in Python (cut when long), containers by size, all else by type name."""
    kind = type(value)
    if value is None or kind in (bool, float, complex):
        return repr(value)
    if isinstance(value, int) and kind is int:
        bits = value.bit_length()
        return repr(value) if bits <= _WIDEST_INT_BITS else f"an int of {bits} bits"
    if isinstance(value, str | bytes) and kind in (str, bytes):
        return repr(value) if len(value) <= _LONGEST else f"{value[:_LONGEST]!r}... ({len(value)} long)"
    if isinstance(value, tuple | list | dict | set | frozenset) and kind in (tuple, list, dict, set, frozenset):
        if not value:
            return f"an empty {kind.__name__}"
        return f"a {kind.__name__} of {len(value)} item{'' if len(value) == 1 else 's'}"
    return f"a value of type {kind.__name__}"
