"""One trial of a killed run: where it was cut, how it went on, and whether all is as in a run that was left alone."""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tests.loopback import ModelServer
from tests.runs.cut_runs import (
    ENGINES,
    Drivers,
    Ended,
    Told,
    answer,
    in_flight,
    run_ids,
    told,
    without_end,
    write_loud_project,
)

MOST_COMMITS = 160
LATENCY = 0.004  # seconds that the server takes: a kill shall find requests under way


@dataclass(frozen=True)
class Trial:
    """What came of a trial: requests in flight at the kills, and how many requests and metric calls came again."""

    cut: str
    in_flight: int
    asked_again: int
    scored_again: int


def write_project(folder: Path, server: ModelServer, engine: str) -> None:
    """Write a project that the engine works on, and have the server speak for its models."""
    server.requests.clear()
    server.latency = LATENCY
    if engine == "dspy":
        from tests.engines import test_dspy_run as colours

        server.reply = colours.reply
        folder.mkdir()
        colours.write(folder, server.url, '{ name = "dspy", optimizer = "GEPA" }')
    else:
        server.reply = answer
        write_loud_project(folder, server.url, ENGINES[engine])


def whole_run(drivers: Drivers, server: ModelServer, folder: Path, engine: str) -> tuple[Told, float]:
    """Run the project without a cut; return what it left, and the seconds that the run took."""
    write_project(folder, server, engine)
    ended = drivers.do("run", folder)
    assert ended.status == 0, ended.err
    whole = told(folder, server)
    return whole, whole.report["seconds"]


def killed_and_resumed(
    drivers: Drivers, server: ModelServer, folder: Path, engine: str, whole: tuple[Told, float], rng: random.Random
) -> Trial:
    """Kill a run at a random moment, sometimes its resume too, let it go on, and hold it against the whole one."""
    expected, seconds = whole
    write_project(folder, server, engine)
    cut = _cut(drivers, rng, seconds, "run", folder)
    if not run_ids(folder):
        assert not server.requests, "a request was sent before the run had a row"
        return Trial(f"{cut}, before the row", 0, 0, 0)
    (run,) = run_ids(folder)
    if rng.random() < 0.4:
        cut += " and " + _cut(drivers, rng, seconds, "runs", "resume", run, folder)
    flying, left = in_flight(folder), without_end(folder)
    ended = drivers.do("runs", "resume", run, folder)
    assert ended.status == 0, f"{cut}: {ended.err}"
    assert reported(ended) in (left, None), cut
    found = told(folder, server)
    assert found.store == expected.store, cut
    assert found.essence == expected.essence, cut
    return Trial(cut, flying.total(), *_repeated(found, expected, flying, cut))


def reported(ended: Ended) -> int | None:
    """Return how many requests in flight a resume told of; None where the run had ended before."""
    if "Resumed at" not in ended.err:
        return None
    found = re.search(r"(\d+) requests? w", ended.err)
    return 0 if found is None else int(found.group(1))


def _repeated(found: Told, expected: Told, flying: Counter[str], cut: str) -> tuple[int, int]:
    """Return how many requests and metric calls came again; none but those in flight may."""
    asked, scored = found.asked - expected.asked, found.scored - expected.scored
    assert not expected.asked - found.asked, f"{cut}: a request was never sent"
    assert not expected.scored - found.scored, f"{cut}: an output was never scored"
    noted = "".join(note for note in found.report["notes"] if note.startswith("Paid again"))
    calls, evaluations = (_counted(noted, name) for name in ("model call", "evaluation"))
    assert asked.total() <= calls <= flying["model_calls"], f"{cut}: a request that was not in flight was sent again"
    assert scored.total() <= evaluations <= flying["evaluations"], f"{cut}: a metric call that had ended was made again"
    return asked.total(), scored.total()


def _counted(text: str, name: str) -> int:
    found = re.search(rf"(\d+) {name}", text)
    return 0 if found is None else int(found.group(1))


def _cut(drivers: Drivers, rng: random.Random, seconds: float, *argv: object) -> str:
    """Run a command that is killed at a random moment; return a name of the moment."""
    if rng.random() < 0.5:
        after = rng.uniform(0.1, 0.3 + 1.2 * seconds)
        drivers.do_for(after, *argv)
        return f"{argv[0]} cut after {after:.3f} s"
    number, when = rng.randint(1, MOST_COMMITS), rng.choice(["before", "after"])
    drivers.do(*argv, kill=(number, when))
    return f"{argv[0]} cut {when} commit {number}"
