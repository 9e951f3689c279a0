"""What a metric file may hold instead of a function, as the `score` function of a run."""

from __future__ import annotations

from typing import Any

from skynet.typed.detect import shape_of
from skynet.typed.toolkit_score import toolkit_score
from skynet.typed.typed_score import Score, typed_score
from skynet.typed.validation import MetricError


def as_score(metric: Any, *, primary: str | None = None, full_dataset_entry: bool = False) -> Score:
    """Return `async score(input, output, expected=None, *, trace=None)` that runs `metric`.

    metric: an instance of the typed protocol or of the toolkit's evaluator shape. primary: the typed output that is
    the score, needed when several are numeric; the numeric ones all stand in the scores. full_dataset_entry: hand the
    toolkit's evaluator the whole row. Raises MetricError.
    """
    if shape_of(metric) == "toolkit":
        if primary is not None:
            raise MetricError(f"primary={primary!r} names an output; an evaluator with evaluate_item has one score.")
        return toolkit_score(metric, full_dataset_entry=full_dataset_entry)
    if full_dataset_entry:
        raise MetricError("full_dataset_entry is for an evaluator with evaluate_item; a typed metric reads row.data.")
    return typed_score(metric, primary)
