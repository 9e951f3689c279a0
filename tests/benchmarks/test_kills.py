"""Two hundred runs killed with SIGKILL at random moments over all engines, some again during their resume."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from skynet.runs.engines import list_engines
from tests.loopback import ModelServer
from tests.runs.cut_runs import Drivers, answer
from tests.runs.kill_trials import killed_and_resumed, whole_run

TRIALS = {"gepa": 60, "demos": 50, "best_of_n": 50, "auto": 40, "dspy": 20}
SEED = int(os.environ.get("SKYNET_BENCH_SEED", "4"))


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("engine", TRIALS)
def test_every_killed_run_ends_as_one_that_was_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], engine: str
) -> None:
    if engine not in {known.name for known in list_engines()}:
        pytest.skip(f"the engine {engine} is not installed")
    drivers, server = Drivers(tmp_path), ModelServer(answer)
    try:
        whole = whole_run(drivers, server, tmp_path / "whole", engine)
        rng = random.Random(f"{engine} {SEED}")
        trials = [
            killed_and_resumed(drivers, server, tmp_path / str(number), engine, whole, rng)
            for number in range(TRIALS[engine])
        ]
    finally:
        drivers.close()
        server.close()
    with capsys.disabled():
        flying = sum(trial.in_flight for trial in trials)
        asked, scored = sum(trial.asked_again for trial in trials), sum(trial.scored_again for trial in trials)
        cut = sum(not trial.cut.endswith("before the row") for trial in trials)
        twice = sum(" and " in trial.cut for trial in trials)
        print(
            f"\n{engine}: {len(trials)} kills ({cut} after the row was stored, {twice} with a second kill during the "
            f"resume), all ended as the whole run of {whole[0].asked.total()} requests and {whole[0].scored.total()} "
            f"metric calls did; {flying} requests and evaluations in flight at the kills, of which {asked} requests "
            f"and {scored} metric calls were seen twice"
        )
