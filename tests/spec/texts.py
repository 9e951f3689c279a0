"""The smallest specs that these tests build on, and the lines of a refusal."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from skynet.spec import Spec, SpecError

BASE = '[artifact]\npath = "prompt.md"\n[target]\nkind = "chat"\n'
DATA = BASE + '[data]\npath = "tickets.csv"\ninputs = ["message"]\n'
Load = Callable[[str], Spec]


def fault_lines(load: Load, text: str) -> list[str]:
    with pytest.raises(SpecError) as caught:
        load(text)
    return str(caught.value).splitlines()
