"""The sealed pass takes the first cases that can be paid, and counts what an earlier attempt paid as paid."""

from __future__ import annotations

from typing import Any

import pytest

from skynet.artifact import Artifact
from skynet.data.case import Case
from skynet.evaluation.amounts import Amounts
from skynet.evaluation.execution import Execution
from skynet.evaluation.guards import BrokenGuard, Stop
from skynet.runs.room import Room
from skynet.runs.verdict import SealedPass, sealed_order, sealed_pass
from tests.evaluation.bench import Bench, make_bench, shared_project
from tests.runs.plans import plan, rows

__all__ = ["make_bench", "shared_project"]

START, BEST = Artifact("text", plan("start", 0.5)), Artifact("text", plan("best", 0.75))


def run(bench: Bench, best: Artifact | None = BEST, execution: Execution | None = None) -> list[str]:
    """Run the pass; return the ids of the cases that start and best have values for."""
    purse = bench.budget.draw("sealed")
    room = Room(purse, [{}] if best is None else [{}, {}], 1, 2)
    passes = sealed_pass(execution or bench.execution, START, best, order(bench), purse, 0.0, room)
    found = [list(one.values) for one in passes if isinstance(one, SealedPass)]
    assert all(cases == found[0] for cases in found)
    return found[0]


def order(bench: Bench) -> list[Case]:
    return sealed_order(bench.project.dataset.test, 0)


@pytest.mark.parametrize(("metric_calls", "count"), [(100, 4), (8, 4), (7, 3), (2, 1)])
def test_the_first_cases_are_taken_that_the_metric_calls_pay_for(
    make_bench: Any, metric_calls: int, count: int
) -> None:
    bench = make_bench(metric_calls, data=rows(test=4))
    assert run(bench) == [case.id for case in order(bench)[:count]]
    assert bench.budget.spent.metric_calls == 2 * count


@pytest.mark.parametrize("metric_calls", [0, 1])
def test_a_budget_that_pays_for_no_case_stops_the_run(make_bench: Any, metric_calls: int) -> None:
    bench = make_bench(metric_calls, data=rows(test=4))
    with pytest.raises(Stop, match="metric_calls is spent") as caught:
        run(bench)
    assert caught.value.reason == "budget_metric_calls"


def test_a_case_that_is_paid_behind_a_gap_counts_in_the_attempt_that_pays_it_and_in_the_next(make_bench: Any) -> None:
    bench = make_bench(data=rows(test=4))
    refused = {case.id for case in order(bench)[1:2]}

    class Refusing:
        """Evaluates all but one case, which the budget refuses while the others of its batch are under way."""

        def __init__(self, runner: Any) -> None:
            self._runner = runner

        def __getattr__(self, name: str) -> Any:
            return getattr(self._runner, name)

        def run(self, artifact: Artifact, case: Case, *rest: Any, **more: Any) -> Any:
            if case.id in refused:
                raise Stop("budget_usd", "refused")
            return self._runner.run(artifact, case, *rest, **more)

    def attempt() -> list[str]:
        return resumed(bench, Refusing(bench.project.runner))

    first = attempt()
    assert len(first) >= 2
    assert not refused & set(first)
    assert attempt() == first


def test_a_start_without_a_challenger_takes_half(make_bench: Any) -> None:
    bench = make_bench(3, data=rows(test=4))
    assert run(bench, None) == [case.id for case in order(bench)[:3]]


def test_what_an_earlier_attempt_paid_is_not_counted_again(make_bench: Any) -> None:
    bench = make_bench(8, data=rows(test=4))
    bench.budget.hold("sealed", Amounts(8))
    for case in order(bench)[:2]:
        bench.execution.run([(START, case), (BEST, case)], "test", bench.budget.draw("sealed"))
    assert bench.budget.draw("sealed").left == Amounts(4)
    assert resumed(bench) == [case.id for case in order(bench)]
    assert bench.budget.spent.metric_calls == 8


@pytest.mark.parametrize(("metric_calls", "first"), [(8, 0), (7, 1)])
def test_a_call_that_is_missing_in_front_does_not_lose_the_cases_that_are_paid_behind_it(
    make_bench: Any, metric_calls: int, first: int
) -> None:
    bench = make_bench(metric_calls, data=rows(test=4))
    cases = order(bench)
    bench.execution.run([(START, cases[0])], "test", bench.budget.draw("sealed"))  # the best was in flight at a kill
    for case in cases[1:]:
        bench.execution.run([(START, case), (BEST, case)], "test", bench.budget.draw("sealed"))
    assert resumed(bench) == [case.id for case in cases[first:]]
    assert bench.budget.spent.metric_calls == metric_calls


def resumed(bench: Bench, runner: Any = None) -> list[str]:
    """Run the pass as a later attempt does."""
    again = Execution(
        runner or bench.project.runner, bench.books, bench.budget, bench.project.case_names, scope="scope",
        concurrency=2, repeats=1, broken=BrokenGuard("", code_may_fail=False), ration=bench.ration, cancel=bench.cancel,
    )  # fmt: skip
    try:
        return run(bench, execution=again)
    finally:
        again.close()


def test_a_stop_that_is_not_the_budgets_is_raised(make_bench: Any) -> None:
    bench = make_bench(8, data=rows(test=4))
    bench.cancel.set()
    with pytest.raises(Stop, match="cancelled"):
        run(bench)
