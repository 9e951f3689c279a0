"""A run that `skynet.optimize` started goes on after a kill: with its functions, or from the store alone."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import skynet
from skynet.errors import SkynetError
from skynet.runs.money import Refused
from skynet.runs.session import open_store
from tests.cli.command import skynet as command
from tests.loopback import ModelServer
from tests.runs.project_files import METRIC, RUN, WORDS, add_missing_word

COMPARED = ("status", "finish_reason", "changed", "rejected", "baseline", "best", "difference")
CONCURRENCY = 2
SCRIPT = """
import json
import sys
import time

import skynet

FOLDER, URL, MORE = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
WORDS = @WORDS
FULL = 1.0


def score(input, output, expected=None):
    with open("calls.log", "a") as file:
        file.write(json.dumps([output, input["word"], time.time()]) + "\\n")
    if input["word"] in output:
        return FULL, {"feedback": "Complete."}
    return 0.0, {"feedback": f"Add the word {input['word']}."}


def run(artifact, input):
    time.sleep(0.02)
    return artifact


result = skynet.optimize(
    FOLDER,
    artifact="A text.",
    metric=score,
    target=run,
    cases={split: [{"input": {"word": word}} for word in WORDS] for split in ("train", "val", "test")},
    **MORE,
)
print(json.dumps(result.to_json()))
"""


def settings(url: str) -> dict[str, Any]:
    """Return what the script gives besides functions, rows and start."""
    return {
        "objective": "Write a text that holds every word.",
        "engine": {"name": "gepa", "max_proposals": 5},
        "models": {"reflection": {"name": "scripted", "base_url": url, "price": {"input": 1.0, "output": 2.0}}},
        "budget": 400,
        "spec": {"evaluation": {"concurrency": CONCURRENCY}, "metric": {"maximum": 1.0}},
    }


@dataclass(frozen=True)
class Killed:
    """The folder of a killed run, its id, the script that began it, its model server."""

    folder: Path
    run: str
    script: Path
    server: ModelServer

    def script_with(self, more: dict[str, Any]) -> subprocess.Popen[str]:
        arguments = [sys.executable, str(self.script), str(self.folder), self.server.url, json.dumps(more)]
        return subprocess.Popen(arguments, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def told(self, more: dict[str, Any]) -> tuple[int, str, str]:
        """Run the script to its end; return its status and what it printed."""
        with self.script_with(more) as process:
            out, err = process.communicate(timeout=100)
        return process.returncode, out, err

    def calls(self) -> Counter[tuple[str, str]]:
        """Count the metric calls by output and word."""
        lines = (self.folder / "calls.log").read_text().splitlines()
        return Counter((output, word) for output, word, _ in map(json.loads, lines))


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    model = ModelServer(add_missing_word)
    yield model
    model.close()


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scripts") / "notebook.py"
    path.write_text(SCRIPT.replace("@WORDS", repr(list(WORDS))))
    return path


@pytest.fixture(scope="module")
def whole(script: Path, server: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Killed]:
    """The result of the script when nothing kills it."""
    run = Killed(tmp_path_factory.mktemp("whole"), "", script, server)
    status, out, err = run.told(settings(server.url))
    assert status == 0, err
    return json.loads(out), run


@pytest.fixture(scope="module")
def template(script: Path, server: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Killed:
    """A run that was killed at its 40th metric call."""
    begun = Killed(tmp_path_factory.mktemp("killed"), "", script, server)
    log = begun.folder / "calls.log"
    with begun.script_with(settings(server.url)) as process:
        deadline = time.monotonic() + 60
        while not log.exists() or len(log.read_text().splitlines()) < 40:
            assert process.poll() is None, process.stderr.read() if process.stderr else ""
            assert time.monotonic() < deadline
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
    with open_store(begun.folder, create=False) as store:
        (row,) = store.runs()
    return Killed(begun.folder, row.id, script, server)


@pytest.fixture
def killed(template: Killed, tmp_path: Path) -> Killed:
    """The killed run, in a folder that the test may change."""
    folder = shutil.copytree(template.folder, tmp_path / "killed")
    return Killed(folder, template.run, template.script, template.server)


def test_the_same_arguments_and_the_runs_id_go_on_without_paying_again(
    whole: tuple[dict[str, Any], Killed], killed: Killed
) -> None:
    killed.server.requests.clear()
    status, out, err = killed.told({**settings(killed.server.url), "resume": killed.run})
    assert status == 0, err
    result = json.loads(out)
    assert result["run"] == killed.run
    assert {key: result[key] for key in COMPARED} == {key: whole[0][key] for key in COMPARED}
    again = killed.calls() - whole[1].calls()
    assert sum(again.values()) <= CONCURRENCY, "a call that was not in flight at the kill was paid again"
    assert whole[1].calls().keys() == killed.calls().keys()


def test_functions_rows_and_the_id_are_enough_since_the_store_has_the_rest(
    whole: tuple[dict[str, Any], Killed], killed: Killed
) -> None:
    status, out, err = killed.told({"resume": killed.run[:-1]})
    assert status == 0, err
    assert {key: json.loads(out)[key] for key in COMPARED} == {key: whole[0][key] for key in COMPARED}


def test_a_value_that_the_metric_reads_and_that_changed_is_named(killed: Killed, tmp_path: Path) -> None:
    changed = tmp_path / "changed.py"
    changed.write_text(killed.script.read_text().replace("FULL = 1.0", "FULL = 0.9"))
    before = killed.calls()
    status, _, err = Killed(killed.folder, killed.run, changed, killed.server).told({"resume": killed.run})
    assert status == 1
    assert "cannot go on as it was: metric.FULL changed since it started" in err
    assert f'skynet.optimize(..., fork="{killed.run}")' in err
    assert killed.calls() == before


def test_a_fork_takes_over_what_a_changed_metric_leaves_valid(killed: Killed) -> None:
    before = sum(killed.calls().values())
    status, out, err = killed.told({**settings(killed.server.url), "fork": killed.run})
    assert status == 0, err
    result = json.loads(out)
    assert result["run"] != killed.run
    assert result["metric_calls"] < sum(killed.calls().values()) == before + result["metric_calls"]


def test_the_command_line_says_what_it_lacks_and_how_to_go_on(killed: Killed) -> None:
    done = command("runs", "resume", killed.run, killed.folder, "--json")
    assert done.status == 2
    assert "was started from Python with metric and target and cases given there" in done.json["error"]
    assert f'skynet.optimize(metric=..., target=..., cases=..., resume="{killed.run}")' in done.json["error"]
    assert command("runs", "show", killed.run, killed.folder, "--json").json["status"] == "interrupted"


def test_what_is_not_given_again_is_named(killed: Killed) -> None:
    with pytest.raises(Refused, match=r"with metric and cases given there.*metric=\.\.\., cases=\.\.\., resume="):
        skynet.optimize(killed.folder, target=len, resume=killed.run)


class TestFromTheStoreAlone:
    @pytest.fixture
    def folder(self, tmp_path: Path, server: ModelServer) -> tuple[Path, str]:
        """A run from a dict, files and a text that ended with its budget; return the folder and the run's id."""
        words = "\n".join(json.dumps({"word": word}) for word in (*WORDS, "golf", "hotel", "india", "juliet"))
        for name, text in {"metric.py": METRIC, "run.py": RUN.replace("DELAY", "0"), "words.jsonl": words}.items():
            (tmp_path / name).write_text(text)
        spec = {
            **settings(server.url)["spec"],
            "data": {"path": "words.jsonl", "inputs": ["word"], "split": {"train": 0.4, "val": 0.3, "test": 0.3}},
            "target": {"kind": "python", "path": "run.py"},
        }
        more = {name: value for name, value in settings(server.url).items() if name != "spec"}
        result = skynet.optimize(tmp_path, spec=spec, artifact="A text.", **{**more, "budget": 32, "engine": "gepa"})
        assert result.finish_reason == "budget_metric_calls"
        return tmp_path, result.run

    def test_the_command_line_goes_on_with_a_dict_and_a_text(self, folder: tuple[Path, str]) -> None:
        done = command("runs", "resume", folder[1], folder[0], "--json", "--add-budget", "metric_calls=40")
        assert done.status == 0
        assert done.json["run"] == folder[1]
        assert 32 < done.json["metric_calls"] <= 72
        exported = command("runs", "export", folder[1], folder[0])
        assert exported.out.startswith("A text.")
        assert command("runs", "watch", folder[1], folder[0]).status == 0

    def test_a_changed_start_is_refused_in_python(self, folder: tuple[Path, str]) -> None:
        with pytest.raises(Refused, match="start changed since it started"):
            skynet.optimize(folder[0], artifact="Another text.", resume=folder[1], add_budget={"metric_calls": 9})

    def test_more_budget_goes_on_from_python(self, folder: tuple[Path, str]) -> None:
        before = skynet.optimize(folder[0], resume=folder[1])
        more = skynet.optimize(folder[0], resume=folder[1], add_budget={"metric_calls": 40})
        assert (before.run, before.metric_calls <= 32) == (more.run, True)
        assert before.metric_calls < more.metric_calls <= 72


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"resume": "x", "fork": "y"}, "fork starts a new run, resume goes on with one"),
        ({"add_budget": {"metric_calls": 5}}, "add_budget goes with resume="),
        ({"resume": "x", "add_budget": {"metric_cals": 5}}, "Did you mean 'metric_calls'?"),
        ({"resume": "x", "add_budget": {"usd": 0}}, "give amounts above 0 of metric_calls, usd, tokens, seconds"),
        ({"resume": "x"}, "`skynet run` makes one"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options: dict[str, Any], told: str, tmp_path: Path) -> None:
    with pytest.raises(SkynetError) as caught:
        skynet.optimize(tmp_path, **options)
    assert told in str(caught.value)
    assert list(tmp_path.iterdir()) == []
