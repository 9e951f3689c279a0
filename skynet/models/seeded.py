"""A door to models whose every request carries a seed."""

from __future__ import annotations

from typing import Any

from skynet.models.calls import Reply
from skynet.models.door import ModelDoor
from skynet.models.ledger import Role
from skynet.models.prices import Price


class Seeded:
    """Asks through another door, adding `seed`, which a provider that samples makes its choices by."""

    def __init__(self, door: ModelDoor, seed: int) -> None:
        self._door = door
        self._seed = seed

    def has(self, role: Role) -> bool:
        """Whether a model is set for the role."""
        return self._door.has(role)

    def describe(self, role: Role) -> dict[str, Any]:
        """Return name and parameters of the role's model."""
        return self._door.describe(role)

    def price(self, role: Role) -> Price | None:
        """Return the price of the role's model, None when nobody names one."""
        return self._door.price(role)

    def check(self, role: Role) -> None:
        """Raise SkynetError where the role's model cannot be used, without asking it."""
        self._door.check(role)

    def complete(self, role: Role, messages: Any, *, extra: Any = None, **options: Any) -> Reply:
        """Return the model's reply; see `Gateway.complete`."""
        return self._door.complete(role, messages, extra={**(extra or {}), "seed": self._seed}, **options)

    def close(self) -> None:
        """Leave the door open: it belongs to whoever made it."""
