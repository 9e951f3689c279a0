"""How scores and differences are written for people: the same in a warning as in every form of the report."""

from __future__ import annotations

NOTHING = "–"


def score(value: float | None) -> str:
    """Write a score with up to three decimals; a small one keeps two digits, a large one one decimal."""
    if value is None:
        return NOTHING
    if value and abs(value) < 0.001:
        return f"{value:.2g}".replace("-", "−")
    text = f"{value:,.1f}" if abs(value) >= 1000 else f"{value:.3f}".rstrip("0").rstrip(".")
    return text.replace("-", "−")


def signed(value: float | None) -> str:
    """Write a difference with its sign; none is `0`."""
    text = score(value)
    return f"+{text}" if value is not None and value > 0 else text
