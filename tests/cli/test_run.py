from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from skynet.cli.run import print_result
from tests.cli.conftest import Made
from tests.runs.report import samples

Printed = Callable[..., str]


@pytest.fixture
def printed(made: Made, capsys: pytest.CaptureFixture[str]) -> Printed:
    """Print a result with another report."""

    def show(data: dict[str, Any], **changes: Any) -> str:
        print_result(replace(made.result, data=data, **changes))
        return capsys.readouterr().out

    return show


def test_the_result_says_how_the_search_ended(printed: Printed) -> None:
    out = printed(samples.success(finish_reason="converged"))
    assert "A gain of +0.417 on test" in out
    assert "The search stood still: it asked for no new evaluation any more." in out


def test_the_result_counts_what_was_turned_down_by_reason(printed: Printed) -> None:
    assert "4 proposals turned down without an evaluation: identical to its parent (3); two code" in printed(
        samples.success()
    )
    assert "turned down" not in printed(samples.success(rejections=[]))


def test_a_failed_run_tells_its_ending_once(printed: Printed) -> None:
    data = samples.success(status="failed", finish_reason="check_failed")
    out = printed(data, status="failed", message="score() returned 0.5", changed=False)
    assert out.count("The contract check did not pass") == 1
    assert "score() returned 0.5" in out
