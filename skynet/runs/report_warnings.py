"""What keeps a reader of the report from trusting its verdict, or its best version, too far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from skynet.data.case import Case
from skynet.engine import Version
from skynet.runs.demonstrations import instructions
from skynet.runs.report.show import counted, score
from skynet.runs.report_failures import failure_warnings
from skynet.runs.runner import Runner
from skynet.runs.verdict import SealedPass, Verdict, sealed_order
from skynet.summary.coverage import Coverage
from skynet.summary.overlap import shared_runs, values_given_away
from skynet.summary.warnings import ValFigures, overlap_warnings, seen_warning, verdict_warnings


def report_warnings(runner: Runner, best: Version | None, seen: int, failures: Mapping[str, Any]) -> list[str]:
    """Return the warnings, in plain sentences; `seen` is how often the test rows were scored in this store."""
    outcome = runner.outcome
    versions = runner.versions.all() if runner.versions is not None else []
    names = {item.id: f"v{number}" for number, item in enumerate(versions)}
    fixed = runner.standings.failure_value() if runner.standings.complete else None
    warnings = [*failure_warnings(failures, names, fixed), *_held_back(runner, names)]
    if outcome.verdict is not None:
        warnings += _of_verdict(runner, outcome.verdict, seen)
    if best is not None and outcome.start is not None and best.id != outcome.start.id:
        warnings += _overlap(runner, best)
    return warnings + _partial_scores(runner)


def shared_cases(verdict: Verdict) -> list[str]:
    """Return the test cases that both sides measured; all that the start measured where it stands alone."""
    after = verdict.start.values if verdict.best is None else verdict.best.values
    return [case for case, value in verdict.start.values.items() if value is not None and after.get(case) is not None]


def _of_verdict(runner: Runner, verdict: Verdict, seen: int) -> Iterator[str]:
    if verdict.left_out:
        yield left_out(verdict, [case.id for case in sealed_order(runner.project.dataset.test, runner.project.seed)])
    yield from _unmeasured(verdict)
    if verdict.comparison is None:
        if sentence := seen_warning(max(seen, 1)):
            yield sentence
        return
    start = runner.standings.of(verdict.start.version)
    challenger = runner.standings.of((verdict.best or verdict.start).version)
    figures = ValFigures(
        None if start is None else start.mean(),
        None if challenger is None else challenger.mean(),
        len(runner.project.dataset.val),
    )
    yield from verdict_warnings(verdict.comparison, val=figures, times_seen=max(seen, 1))


def left_out(verdict: Verdict, order: Sequence[str]) -> str:
    """Say which test cases the budget paid for; `order` are all ids in seeded order. A stop or a kill leaves gaps."""
    which = "the first ones in seeded order"
    if set(order[: verdict.cases]) != set(verdict.start.values):
        which = f"not just {which}, since some before the last of them were not paid for to the end"
    return f"The budget paid for {verdict.cases} of {verdict.cases + verdict.left_out} test cases: {which}."


def _held_back(runner: Runner, names: Mapping[str, str]) -> Iterator[str]:
    """Name the versions whose mean on val is above the best's, but over so few cases that they cannot win."""
    standings = runner.standings
    best = standings.of(standings.best() or "")
    mean = None if best is None else best.mean()
    if best is None or mean is None:
        return
    for version in standings.complete:
        one = standings.of(version)
        own = None if one is None else one.mean()
        if one is None or own is None or own <= mean or one.coverage().keeps_up_with(best.coverage()):
            continue
        found = one.coverage()
        ahead, behind = names[version], names[best.version]
        yield (
            f"{ahead} cannot win though it scored {score(own)} on val and {behind} {score(mean)}: it was measured on "
            f"{found.measured} of {found.total} val evaluations, {behind} on {best.coverage().measured}."
        )


def _unmeasured(verdict: Verdict) -> Iterator[str]:
    """Warn of test cases that a figure on test does not rest on."""
    missing = verdict.cases - len(shared_cases(verdict))
    if not missing:
        return
    sides = [("the start", verdict.start), *([("the best", verdict.best)] if verdict.best is not None else [])]
    told = "; ".join(f"{name} {_covered(one)}" for name, one in sides)
    both = "" if verdict.best is None else " for both"
    yield (
        f"Not on all test cases: {missing} of {counted(verdict.cases, 'case')} {'was' if missing == 1 else 'were'} not "
        f"measured{both} and {'is' if missing == 1 else 'are'} in no figure on test ({told}). What is missing may be "
        "easier or harder than the rest."
    )


def _covered(side: SealedPass) -> str:
    """Return on how many evaluations a side was measured, and what happened on the others."""
    found: Coverage = side.coverage()
    lost = {
        "unmeasured": found.unmeasured,
        "failed in the metric": found.metric_failures,
        "failed in a provider": found.provider_failures,
    }
    why = "".join(f", {count} {what}" for what, count in lost.items() if count)
    return f"was measured on {found.measured} of {found.total}{why}"


def _overlap(runner: Runner, best: Version) -> list[str]:
    """Warn of rows that stand in the instructions; demonstrations are listed, not warned of."""
    text = instructions(best.artifact)
    data = runner.project.dataset
    train = {case.id: case for case in data.train}
    everything: Sequence[Case] = [*data.train, *(case for case in (*data.val, *data.test) if case.id not in train)]
    runs = shared_runs(text, ((case.id, case.input) for case in data.train))
    given_away = values_given_away(text, ((case.id, case.expected) for case in everything))
    return overlap_warnings(runs, given_away)


def _partial_scores(runner: Runner) -> list[str]:
    """Warn, once for each name, of named scores that the metric gave on some cases only."""
    records = [
        record
        for version in runner.standings.complete
        if (standing := runner.standings.of(version)) is not None
        for record in standing.records()
        if record.status == "ok"
    ]
    counts = Counter(name for record in records for name in record.scores)
    return [
        f"The named score {name!r} stands on {count} of {len(records)} measured val evaluations; it is unmeasured on "
        "the others and drives no search."
        for name, count in sorted(counts.items())
        if count < len(records)
    ]
