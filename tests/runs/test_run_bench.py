from __future__ import annotations

from typing import Any

import pytest

from skynet.evaluation.source_files import SourceChanged
from skynet.runs.books import RunBooks
from skynet.runs.run_bench import RunBench
from tests.evaluation.bench import make_bench, shared_project
from tests.runs.plans import rows

__all__ = ["make_bench", "shared_project"]


def test_a_stop_before_score_is_called_costs_no_metric_call(make_bench: Any) -> None:
    bench = make_bench(data=rows())
    with (bench.folder / "metric.py").open("a", encoding="utf-8") as file:
        file.write("# changed before a worker had loaded it\n")
    check = RunBench(bench.project, bench.execution, bench.books, bench.budget, bench.ration, {}, bench.cancel)
    with pytest.raises(SourceChanged):
        check.score_output(bench.case("val0"), 0.5, None, 0)
    assert (bench.budget.spent.metric_calls, bench.budget.remaining.metric_calls) == (0, 100)
    assert RunBooks(bench.store, bench.row).journal.in_flight() == []
