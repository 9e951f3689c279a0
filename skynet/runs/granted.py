"""What a run may spend when it goes on: what its spec grants now, and what was added on the command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from skynet.errors import nearest
from skynet.runs.money import COUNTED, Refused
from skynet.spec import Spec

MOST_ADDED = 1e12  # of anything; what is above is a slip
_WHOLE = ("metric_calls", "tokens")


def granted_by(spec: Spec) -> dict[str, float]:
    """Return the limits that a spec sets, by name; a role's dollars are `usd_by_role.task`."""
    limits = {name: getattr(spec.budget, name) for name in COUNTED}
    roles = {f"usd_by_role.{role}": usd for role, usd in spec.budget.usd_by_role.items()}
    return {name: limit for name, limit in {**limits, **roles}.items() if limit is not None}


@dataclass(frozen=True, slots=True)
class Granted:
    """`by_spec` are the spec's limits at the last attempt, `added` what was granted on top of them so far.

    A spec's limit may be raised between two attempts, and the run may spend that much more. One that is lowered, added
    or taken away is refused: the run was planned with it.
    """

    by_spec: Mapping[str, float]
    added: Mapping[str, float]

    @classmethod
    def from_json(cls, state: Mapping[str, Any]) -> Granted:
        """Return what `to_json` put into a run's state."""
        return cls(state["granted"], state.get("added", {}))

    def to_json(self) -> dict[str, Any]:
        """Return it as the run's state keeps it."""
        return {"granted": dict(self.by_spec), "added": dict(self.added)}

    def raised_in(self, spec: Spec) -> bool:
        """Whether the spec grants more of anything than it did."""
        now = granted_by(spec)
        return any(now.get(name, 0) > limit for name, limit in self.by_spec.items())

    def now(self, spec: Spec, more: Mapping[str, float]) -> Granted:
        """Return what the run may spend from now on. Raises Refused, naming each limit that is not as it may be."""
        require_amounts(more)
        now = granted_by(spec)
        told = [self._refused(name, now) for name in {**self.by_spec, **now}]
        told += [
            f"[budget] {name} has no limit in this run, so nothing can be added to it"
            for name in more
            if name not in self.by_spec
        ]
        if faults := [text for text in told if text]:
            raise Refused("\n".join(faults))
        added = {name: self.added.get(name, 0) + more.get(name, 0) for name in {**self.added, **more}}
        return Granted(now, added)

    def _refused(self, name: str, now: Mapping[str, float]) -> str:
        before, after = self.by_spec.get(name), now.get(name)
        if before is None:
            return (
                f"[budget] {name} = {after:.12g} is new, and a limit that the run was not planned with cannot be set "
                "while it goes on. Take it out"
            )
        if after is not None and after >= before:
            return ""
        said = "is gone" if after is None else f"= {after:.12g} is lower than before"
        return (
            f"[budget] {name} {said}, and a limit can only be raised while a run goes on. Set it to {before:.12g}, or "
            "more"
        )

    def raised_from(self, before: Granted) -> str:
        """Return what may be spent now that might not be before, empty where that is nothing."""
        was = before._totals()
        more = [
            f"{name} from {was[name]:.12g} to {limit:.12g}"
            for name, limit in self._totals().items()
            if limit != was[name]
        ]
        return f"raised: {', '.join(more)}" if more else ""

    def limits(self) -> dict[str, float | None]:
        """Return the limits of all attempts together, by the names of `COUNTED`."""
        totals = self._totals()
        return {name: totals.get(name) for name in COUNTED}

    def _totals(self) -> dict[str, float]:
        """Return each limit that there is with what was added to it, a role's dollars included."""
        return {name: limit + self.added.get(name, 0) for name, limit in self.by_spec.items()}


def require_amounts(more: Mapping[str, float]) -> None:
    """Raise Refused unless each is an amount of something that is counted: above 0, finite, whole where it must be."""
    for name, amount in more.items():
        whole = name not in _WHOLE or isinstance(amount, int)
        if name not in COUNTED or not 0 < amount <= MOST_ADDED or not whole:
            raise Refused(
                f"{name} = {amount} cannot be added to a budget. It takes {', '.join(COUNTED)}, each above 0 and at "
                f"most {MOST_ADDED:g}; metric calls and tokens are whole.{nearest(name, COUNTED)}"
            )
