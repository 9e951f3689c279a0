from __future__ import annotations

from collections.abc import Callable

import pytest

from skynet.summary.written import score, signed


@pytest.mark.parametrize(
    ("write", "value", "written"),
    [
        (score, None, "–"), (score, 0.0, "0"), (score, 1, "1"), (score, 0.70833, "0.708"), (score, 0.5, "0.5"),
        (score, -0.083, "−0.083"), (score, 0.00004, "4e−05"), (score, 12345.678, "12,345.7"), (score, 100, "100"),
        (signed, 0.0, "0"), (signed, 0.25, "+0.25"), (signed, -1, "−1"), (signed, None, "–"),
    ],
)  # fmt: skip
def test_scores_and_differences_are_written_for_people(
    write: Callable[[float | None], str], value: float | None, written: str
) -> None:
    assert write(value) == written
