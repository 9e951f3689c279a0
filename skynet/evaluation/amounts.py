"""What a budget counts: metric calls, dollars and tokens."""

from __future__ import annotations

import math
from dataclasses import dataclass

PICO = 1_000_000_000_000  # dollars are added up in whole trillionths: sums of floats drift past a limit


@dataclass(frozen=True, slots=True)
class Amounts:
    """Metric calls, US dollars and tokens; none of them negative."""

    metric_calls: int = 0
    usd: float = 0.0
    tokens: int = 0

    def __post_init__(self) -> None:
        if self.metric_calls < 0 or self.tokens < 0 or not (self.usd >= 0 and math.isfinite(self.usd)):
            raise ValueError(f"amounts are finite and not negative, not {self}")


@dataclass(frozen=True, slots=True, order=False)
class Exact:
    """Amounts with dollars in whole trillionths, for sums and comparisons without rounding."""

    metric_calls: int = 0
    pico: int = 0
    tokens: int = 0

    @classmethod
    def of(cls, amounts: Amounts, times: int = 1) -> Exact:
        """Convert, `times` over."""
        return cls(amounts.metric_calls * times, round(amounts.usd * PICO) * times, amounts.tokens * times)

    def __add__(self, other: Exact) -> Exact:
        return Exact(self.metric_calls + other.metric_calls, self.pico + other.pico, self.tokens + other.tokens)

    def __sub__(self, other: Exact) -> Exact:
        return Exact(self.metric_calls - other.metric_calls, self.pico - other.pico, self.tokens - other.tokens)

    def lesser(self, other: Exact) -> Exact:
        """Return the smaller of the two in each part."""
        return Exact(
            min(self.metric_calls, other.metric_calls), min(self.pico, other.pico), min(self.tokens, other.tokens)
        )

    @property
    def plain(self) -> Amounts:
        """The amounts as a caller sees them; what is below zero counts as nothing."""
        return Amounts(max(self.metric_calls, 0), max(self.pico, 0) / PICO, max(self.tokens, 0))


NOTHING = Exact()
