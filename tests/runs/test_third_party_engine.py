"""The engine of the guide, installed from outside the repository: it runs, resumes, and obeys the budget."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.projects import write_project

GUIDE = Path(__file__).parents[2] / "docs" / "engines.md"
START = "Answer in one word.\nbad: add a joke\nBe exact.\nbad: shout\nbad: ask back\nMind the case."
RUN = '''
def run(artifact, input):
    return artifact.count("bad:")
'''
METRIC = '''
import os
import time

def score(input, output, expected=None):
    with open("scored.txt", "a") as file:
        file.write(input["text"] + "\\n")
    while os.path.exists("hold") and len(open("scored.txt").readlines()) > int(open("hold").read()):
        time.sleep(0.01)
    return 1 / (1 + output), {"feedback": f"{output} lines are bad."}
'''
MORE = """
[evaluation]
concurrency = 1
[budget]
metric_calls = {budget}
[engine]
{engine}
"""
DROP_LINES = 'name = "drop_lines"'


def guide_block(start: str) -> str:
    """Return the code block of the guide that begins with these words."""
    blocks = re.findall(r"^```\w+\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    (found,) = [block for block in blocks if block.startswith(start)]
    return str(found)


def install(folder: Path) -> Path:
    """Lay the guide's package out as pip would; return the folder for the module path."""
    project = tomllib.loads(guide_block("[build-system]"))
    name, version = project["project"]["name"], project["project"]["version"]
    (module,) = project["tool"]["setuptools"]["py-modules"]
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="ascii")
    points = project["project"]["entry-points"]["skynet.engines"].items()
    lines = ["[skynet.engines]", *(f"{key} = {value}" for key, value in points)]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="ascii")
    (folder / f"{module}.py").write_text(guide_block('"""An engine'), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(tmp_path_factory.mktemp("site"))


def start(plugin: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start the command where the package is installed and this repository is not the working folder."""
    return subprocess.Popen(
        [sys.executable, "-m", "skynet.cli.main", *arguments],
        cwd=plugin,
        env={**os.environ, "PYTHONPATH": str(plugin)},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def command(plugin: Path, *arguments: str) -> dict[str, Any]:
    process = start(plugin, *arguments)
    out, err = process.communicate(timeout=100)
    assert process.returncode == 0, err
    return dict(json.loads(out))


def project(folder: Path, budget: int = 200, engine: str = DROP_LINES) -> Path:
    return write_project(folder, METRIC, RUN, start=START, more=MORE.format(budget=budget, engine=engine))


def scored(folder: Path) -> list[str]:
    path = folder / "scored.txt"
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def test_it_is_listed_with_its_package_and_options(plugin: Path) -> None:
    process = start(plugin, "engines")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "drop_lines  (line-dropper 1.0, can run here)" in out
    assert "how often all lines are gone through" in out


def test_it_runs_and_finds_the_better_text(plugin: Path, tmp_path: Path) -> None:
    folder = project(tmp_path / "p")
    result = command(plugin, "run", str(folder), "--json")
    assert (result["status"], result["finish_reason"]) == ("finished", "engine_done")
    assert result["engine"] == "drop_lines"
    assert result["changed"]
    assert (result["baseline"]["test"], result["best"]["test"]) == (0.25, 1.0)
    assert result["metric_calls"] == len(scored(folder))


def test_it_can_be_a_lane_of_auto_and_the_run_shows_its_lanes(plugin: Path, tmp_path: Path) -> None:
    folder = project(tmp_path / "p", engine='name = "auto"\nlanes = ["best_of_n", "drop_lines"]')
    result = command(plugin, "run", str(folder), "--json")
    assert (result["finish_reason"], result["best"]["test"]) == ("engine_done", 1.0)
    shown = command(plugin, "runs", "show", result["run"], str(folder), "--json")
    told = [event["reason"] for event in shown["events"] if event["kind"] == "lane"]
    assert told[0] == "auto"
    assert told[1].startswith("The lane best_of_n was left out: best_of_n needs a reflection model")
    assert told[2] == "drop_lines"
    assert re.fullmatch(r"The lane drop_lines ended after \d+ metric calls, .* at 1 on val: it was done\.", told[3])
    report = json.loads((folder / ".skynet" / "runs" / result["run"] / "report.json").read_text(encoding="utf-8"))
    assert [told[1], told[3]] == report["notes"]


def test_it_obeys_the_budget(plugin: Path, tmp_path: Path) -> None:
    folder = project(tmp_path / "p", budget=18)
    result = command(plugin, "run", str(folder), "--json")
    assert (result["status"], result["finish_reason"]) == ("stopped", "budget_metric_calls")
    assert result["metric_calls"] == len(scored(folder)) <= 18
    assert result["best"]["test"] is not None


def test_it_goes_on_after_a_kill_and_pays_only_what_was_in_flight_again(plugin: Path, tmp_path: Path) -> None:
    whole = project(tmp_path / "whole")
    expected = command(plugin, "run", str(whole), "--json")
    folder, last = project(tmp_path / "cut"), len(scored(whole)) // 2
    (folder / "hold").write_text(str(last), encoding="ascii")
    process = start(plugin, "run", str(folder), "--json")
    deadline = time.monotonic() + 60
    while len(scored(folder)) <= last:  # one more evaluation is held in the metric, under way for good
        assert time.monotonic() < deadline, "the run does not come to its middle"
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    (folder / "hold").unlink()
    (run,) = json.loads(start(plugin, "runs", "list", str(folder), "--json").communicate(timeout=60)[0])
    result = command(plugin, "runs", "resume", run["run"], str(folder), "--json")
    for name in ("status", "finish_reason", "baseline", "best", "difference"):
        assert result[name] == expected[name], name
    assert len(scored(folder)) == len(scored(whole)) + 1
    assert result["metric_calls"] == expected["metric_calls"] + 1
