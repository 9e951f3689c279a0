from __future__ import annotations

import json
import math
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skynet.summary.comparison import Comparison, compare

scores = st.none() | st.floats(-100, 100).map(lambda value: round(value, 3))
versions = st.lists(st.tuples(scores, scores), max_size=30)


def keyed(values: list[float | None]) -> dict[str, float | None]:
    return {str(number): value for number, value in enumerate(values)}


def comparing(wins: int, losses: int, ties: int, *, span: float = 1.0) -> Comparison:
    start = [0.0] * wins + [1.0] * losses + [1.0] * ties
    best = [1.0] * wins + [0.0] * losses + [1.0] * ties
    return compare(keyed([*start]), keyed([*best]), span=span)


def test_it_says_the_means_and_counts_wins_ties_and_losses() -> None:
    found = comparing(wins=5, losses=1, ties=4)
    assert (found.cases, found.wins, found.ties, found.losses) == (10, 5, 4, 1)
    assert (found.start_mean, found.best_mean, found.mean) == (0.5, 0.9, 0.4)


def test_only_cases_that_both_measured_are_compared() -> None:
    found = compare({"a": 0.0, "b": None, "c": 1.0, "d": 0.0}, {"a": 1.0, "b": 1.0, "c": None, "e": 0.0})
    assert (found.cases, found.unpaired, found.mean) == (1, 4, 1.0)


def test_without_a_common_case_every_figure_is_none() -> None:
    found = compare({"a": None}, {"b": 1.0})
    assert (found.cases, found.unpaired) == (0, 2)
    assert (found.mean, found.low, found.high, found.p, found.smallest_difference) == (None,) * 5
    assert found.includes_zero


def test_when_no_case_differs_the_range_of_the_score_gives_the_interval() -> None:
    found = comparing(wins=0, losses=0, ties=20, span=10.0)
    assert (found.mean, found.p) == (0.0, 1.0)
    assert found.low is not None
    assert found.high is not None
    assert found.low == -found.high
    assert 0.5 < found.high < 2


def test_float_noise_is_a_tie() -> None:
    found = compare({"a": 0.3}, {"a": 0.1 + 0.2})
    assert (found.ties, found.mean) == (1, 0.0)


def test_tiny_scores_still_differ() -> None:
    assert compare({"a": 1e-12}, {"a": 2e-12}).wins == 1


@pytest.mark.parametrize(
    ("wins", "losses", "ties", "smallest"),
    [(0, 0, 20, 6 / 20), (1, 0, 19, 6 / 20), (0, 0, 100, 6 / 100), (5, 0, 0, None), (0, 0, 5, None), (0, 0, 6, 1.0)],
)
def test_the_smallest_difference_is_six_cases_won_where_hardly_any_differs(
    wins: int, losses: int, ties: int, smallest: float | None
) -> None:
    assert comparing(wins, losses, ties).smallest_difference == pytest.approx(smallest)


def test_the_smallest_difference_follows_the_spread_where_many_differ() -> None:
    found = comparing(wins=45, losses=40, ties=15)
    assert found.smallest_difference == pytest.approx(1.96 * math.sqrt(0.85 / 100), rel=0.08)


def test_the_smallest_difference_is_measured_on_the_side_that_faces_zero() -> None:
    gains: list[float | None] = [-math.log((number + 0.5) / 1_000) for number in range(1_000)]  # skewed
    nothing: list[float | None] = [0.0] * len(gains)
    gained, lost = compare(keyed(nothing), keyed(gains)), compare(keyed(gains), keyed(nothing))
    assert gained.mean is not None
    assert gained.low is not None
    assert gained.smallest_difference == pytest.approx(gained.mean - gained.low)
    assert lost.smallest_difference == pytest.approx(gained.smallest_difference)


@given(versions)
def test_a_mean_difference_is_shown_only_if_it_reaches_the_smallest_one(
    pairs: list[tuple[float | None, float | None]],
) -> None:
    found = compare(keyed([before for before, _ in pairs]), keyed([after for _, after in pairs]), span=200)
    if found.mean is not None and found.smallest_difference is not None and found.includes_zero:
        assert abs(found.mean) <= found.smallest_difference * (1 + 1e-9)


@given(versions)
def test_swapping_start_and_best_mirrors_every_figure(pairs: list[tuple[float | None, float | None]]) -> None:
    start, best = keyed([before for before, _ in pairs]), keyed([after for _, after in pairs])
    there, back = compare(start, best, span=200), compare(best, start, span=200)
    assert (there.wins, there.losses, there.p) == (back.losses, back.wins, back.p)
    if there.mean is None or there.low is None or there.high is None:
        assert back.mean is None
    else:
        assert back.smallest_difference == pytest.approx(there.smallest_difference)
        assert (back.mean, back.low, back.high) == pytest.approx((-there.mean, -there.high, -there.low), abs=1e-7)


@given(versions)
def test_the_interval_holds_the_mean_and_the_json_is_strict(pairs: list[tuple[float | None, float | None]]) -> None:
    found = compare(keyed([before for before, _ in pairs]), keyed([after for _, after in pairs]), span=200)
    json.dumps(found.to_json(), allow_nan=False)
    assert found.wins + found.ties + found.losses == found.cases
    assert found.cases + found.unpaired == len(pairs)
    if found.mean is not None and found.low is not None and found.high is not None:
        assert found.low - 1e-7 <= found.mean <= found.high + 1e-7


def test_the_order_of_the_cases_does_not_matter() -> None:
    start, best = keyed([0.1, 0.5, 0.9, 0.3]), keyed([0.4, 0.2, 1.0, 0.3])
    assert compare(dict(reversed(start.items())), best) == compare(start, best)


@pytest.mark.parametrize("span", [0.0, -1.0, math.nan, math.inf])
def test_a_span_that_is_no_width_is_refused(span: float) -> None:
    with pytest.raises(ValueError, match="span must be a finite number above 0"):
        compare({}, {}, span=span)


def test_a_score_that_is_not_finite_is_refused_by_its_case() -> None:
    with pytest.raises(ValueError, match="case 'b'"):
        compare({"a": 0.0, "b": 1.0}, {"a": 0.0, "b": math.nan})


def test_importing_it_does_not_import_numpy() -> None:
    program = "import sys, skynet.summary.warnings; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
