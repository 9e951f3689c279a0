"""What all tests share: no deadlines in hypothesis, since a deadline asserts a speed of the machine."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("skynet", deadline=None)
settings.load_profile("skynet")
