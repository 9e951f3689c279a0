"""How much of the sealed pass a budget still pays for, by what the versions have cost so far."""

from __future__ import annotations

from collections.abc import Sequence

from skynet.evaluation.budget import Purse
from skynet.runs.case_costs import CaseCosts

_ALL = 10**9


class Room:
    """Counts test cases. `costs` are those of each version on any case; `repeats` of each run, `at_once` at a time."""

    def __init__(self, purse: Purse, costs: Sequence[CaseCosts], repeats: int, at_once: int) -> None:
        self._purse = purse
        self._costs = costs
        self._calls_a_case = repeats * len(costs)
        self._repeats = repeats
        self._at_once = at_once

    def __call__(self) -> int:
        """Return how many cases fit at their dearest, beside what the calls under way set aside.

        Where dollars or tokens seem to be over it is 1: only a call that is refused shows that they are.
        """
        left = self._purse.remaining
        counts = [] if left.metric_calls is None else [left.metric_calls // self._calls_a_case]
        roles = {role for costs in self._costs for role in costs}
        counts += [self._that_fit(cap, "usd", {role}) for role, cap in left.usd_by_role.items() if role in roles]
        counts += [] if left.usd is None else [self._that_fit(left.usd, "usd", roles)]
        counts += [] if left.tokens is None else [self._that_fit(left.tokens, "tokens", roles)]
        return min(counts, default=_ALL)

    def _that_fit(self, left: float, kind: str, roles: set[str]) -> int:
        used = [cost for costs in self._costs for role, cost in costs.items() if role in roles]
        a_case = self._repeats * sum(getattr(cost, kind) for cost in used)
        call = max((getattr(cost, f"call_{kind}") for cost in used), default=0)
        few = _times(left, a_case + self._calls_a_case * call)  # all of their calls may be under way
        many = _times(left - self._at_once * call, a_case)
        return max(few, many, 1)


def _times(left: float, each: float) -> int:
    if left < 0:
        return 0
    return _ALL if each == 0 else int(min(left / each, _ALL))
