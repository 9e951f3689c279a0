"""The sentences that keep a reader from trusting a verdict, or an artifact, too far."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from skynet.summary.comparison import Comparison
from skynet.summary.overlap import GivenAway, SharedRun
from skynet.summary.written import score, signed

WORTH_SHOWING = 0.05  # of the score's range: a test that cannot show this much is called too small
_NAMED = 3  # cases or values named in one sentence; the rest are counted
_TWO_SIDED_95 = 1.96


@dataclass(frozen=True, slots=True)
class ValFigures:
    """Means of start and best on val, None when unmeasured, and on how many cases the best was measured."""

    start: float | None
    best: float | None
    cases: int


def verdict_warnings(comparison: Comparison, *, val: ValFigures | None = None, times_seen: int = 1) -> list[str]:
    """Return the warnings about a verdict, in plain sentences, most important first.

    `comparison` is start against best on test; `val` their figures on the cases that chose the best; `times_seen`
    counts how often these test rows were scored in this store, this time included.

    Too few cases: fewer than six, or the interval includes 0 and nothing under 5 % of the score's range could have
    shown. Val far above test: the gain on val lies above the interval of the gain on test, or the best's mean on val
    lies above its mean on test by more than chance explains, 1.96 * span / 2 * sqrt(1 / test cases + 1 / val cases),
    where span / 2 is the largest deviation that scores of this range can have.
    """
    seen = seen_warning(times_seen)
    found = [_nothing_shown(comparison), _too_few(comparison), _val_above_test(comparison, val), seen]
    return [sentence for sentence in found if sentence]


def overlap_warnings(runs: Sequence[SharedRun], given_away: Sequence[GivenAway]) -> list[str]:
    """Return the warnings about train rows and expected values that stand in the best artifact."""
    found = []
    if runs:
        longest = max(runs, key=lambda run: run.words)
        cases = list(dict.fromkeys(run.case for run in runs))
        found.append(
            f"Train rows stand in the artifact: {_counted(len(cases), 'row')} ({_named(cases)}) share 8 or more words "
            f"in a row with it, at most {longest.words} (row {longest.case}, column {longest.column})."
        )
    if given_away:
        values = [repr(_cut(one.value)) for one in given_away]
        found.append(
            f"Expected values stand in the artifact: {_counted(len(values), 'rare, long value')} ({_named(values)})."
        )
    return found


def _nothing_shown(comparison: Comparison) -> str:
    if comparison.mean is None or comparison.low is None or comparison.high is None:
        return "Nothing can be said: no test case was measured for both start and best."
    if not comparison.includes_zero:
        return ""
    return (
        f"No difference is shown: the 95 % interval of the difference on test, "
        f"{signed(comparison.low)} to {signed(comparison.high)}, includes 0."
    )


def _too_few(comparison: Comparison) -> str:
    cases = _counted(comparison.cases, "test case")
    smallest = comparison.smallest_difference
    if comparison.cases == 0:
        return ""
    if smallest is None:
        return f"Too few cases to tell: with {cases} no difference can be shown; at least 6 are needed."
    if not comparison.includes_zero or smallest < WORTH_SHOWING * comparison.span:
        return ""
    return f"Too few cases to tell: {cases} could only show a difference of about {score(smallest)} or more."


def _val_above_test(comparison: Comparison, val: ValFigures | None) -> str:
    if val is None or val.best is None or not val.cases:
        return ""
    if comparison.mean is None or comparison.high is None or comparison.best_mean is None:
        return ""
    ending = "the best may be fitted to the val cases."
    if val.start is not None and val.best - val.start > comparison.high:
        return (
            f"Val is far above test: the gain on val, {signed(val.best - val.start)}, lies above the 95 % interval of "
            f"the gain on test ({signed(comparison.mean)}, at most {signed(comparison.high)}); {ending}"
        )
    chance = _TWO_SIDED_95 * comparison.span / 2 * math.sqrt(1 / comparison.cases + 1 / val.cases)
    if val.best - comparison.best_mean > chance:
        return (
            f"Val is far above test: the best scores {score(val.best)} on val and "
            f"{score(comparison.best_mean)} on test, more than chance explains; {ending}"
        )
    return ""


def seen_warning(times: int) -> str:
    """Return the warning about test rows that were scored `times` times in this store; empty at the first time."""
    if times < 2:
        return ""
    return f"Test seen {times} times: these test rows were scored before in this store, so they are no longer unseen."


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _named(names: Sequence[str]) -> str:
    rest = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {rest} more" if rest > 0 else "")


def _cut(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
