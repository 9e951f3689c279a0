"""Runs that are cut and go on: a chat project with scripted models, commands to drive it, and what to compare."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skynet.runs import schema
from skynet.runs.session import open_store
from tests.loopback import ModelServer

ROOT = Path(__file__).parents[2]
WORDS = ("alpha", "bravo", "charlie", "delta", "echo", "foxtrot")
MANY = ("alpha", "bravo", *(f"word{letter}" for letter in "abcdefgh"))
EASY = frozenset({"alpha", "bravo"})  # what the task model knows by itself
PRICES = {"task": (1.0, 3.0), "reflection": (2.0, 8.0), "metric": (5.0, 7.0)}  # dollars a million tokens, in and out

METRIC = """
import os

def score(input, output, expected=None):
    with open(os.path.join(os.path.dirname(__file__), "calls.log"), "a") as file:
        file.write(input["word"] + "\\n")
    if output == expected["loud"]:
        return 1.0, {"feedback": "Right."}
    return 0.0, {"feedback": f"Add the word {input['word']}."}
"""
JUDGE = """
import os
import skynet

def score(input, output, expected=None):
    with open(os.path.join(os.path.dirname(__file__), "calls.log"), "a") as file:
        file.write(input["word"] + "\\n")
    verdict = skynet.llm("Is it right?", f"{input['word']} {output} {expected['loud']}")
    if verdict == "PASS":
        return 1.0, {"feedback": "Right."}
    return 0.0, {"feedback": f"Add the word {input['word']}."}
"""
ENGINES = {
    "gepa": '{ name = "gepa", max_proposals = 4 }',
    "demos": '{ name = "demos", labels = true, candidates = 3, max_demos = 4 }',
    "best_of_n": '{ name = "best_of_n", n = 8 }',
    "auto": '"auto"',
}
HUNGRY = {  # without an end of their own, as far as an engine can be
    "gepa": '"gepa"', "demos": '{ name = "demos", labels = true }', "best_of_n": '"best_of_n"', "auto": '"auto"',
}  # fmt: skip
CHAT = '[artifact]\npath = "start.txt"\n[target]\nkind = "chat"'
CHAT_SOURCE = {"start.txt": "Say it loud.\n"}
SPEC = """
name = "words"
objective = "Say each word loud."
engine = {engine}
{artifact}
[metric]
path = "metric.py"
[data]
path = "words.csv"
inputs = ["word"]
outputs = ["loud"]
split = {{ column = "split" }}
[budget]
{budget}
[evaluation]
concurrency = 4
[models]
{models}
"""


def write_loud_project(
    folder: Path,
    url: str,
    engine: str = ENGINES["gepa"],
    *,
    budget: str = "metric_calls = 150",
    metric: str = METRIC,
    priced: bool = True,
    words: Sequence[str] = WORDS,
    artifact: str = CHAT,
    source: Mapping[str, str] = CHAT_SOURCE,
    max_tokens: int = 40,
) -> Path:
    """Write the project into `folder`; all its models are at `url`. `source` are the files that `artifact` names."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [f"{word},{word.upper()},{split}" for split in ("train", "val", "test") for word in words]
    files = {
        **source,
        "metric.py": metric,
        "words.csv": "\n".join(["word,loud,split", *rows]) + "\n",
        "skynet.toml": SPEC.format(
            engine=engine, artifact=artifact, budget=budget, models="\n".join(_models(url, priced, max_tokens))
        ),
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def _models(url: str, priced: bool, max_tokens: int) -> Iterator[str]:
    for role, (read, written) in PRICES.items():
        price = f", price = {{ input = {read}, output = {written} }}" if priced else ""
        params = f"params = {{ max_tokens = {max_tokens} }}"
        yield f'{role} = {{ name = "{role}", base_url = "{url}"{price}, {params} }}'


def answer(request: Mapping[str, Any]) -> str:
    """Reply as the task, the reflection or the metric model would: by what the request says and nothing else."""
    prompt = request["messages"][-1]["content"]
    if request["model"] == "metric":
        output, loud = prompt.split()[-2:]
        return "PASS" if output == loud else "FAIL"
    if request["model"] == "task":
        shown = " ".join(turn["content"].lower() for turn in request["messages"][:-1])
        return str(prompt).upper() if prompt in EASY or prompt in shown else "?"
    return f"```\n{_next_text(prompt)}\n```"


def _next_text(prompt: str) -> str:
    """Return the current text with one or more of the missing words, none that the prompt tells of as tried."""
    current = re.search(r"Say it loud\.[a-z ]*", prompt)
    text = current.group(0).strip() if current else "Say it loud."
    missing = sorted(set(re.findall(r"Add the word (\w+)", prompt)) - set(text.split()))
    candidates = [f"{text} {word}" for word in missing] + [f"{text} {' '.join(missing[:n])}" for n in range(2, 9)]
    return next((one for one in candidates if f"{one}\n" not in prompt), text)


def server_usd(server: ModelServer, requests: list[Any] | None = None) -> float:
    """Return what the server would bill: each request that it answers, by its own count of tokens."""
    total = 0.0
    for request in server.requests if requests is None else requests:
        usage = server.completion(request.body)["usage"]
        read, written = PRICES[request.body["model"]]
        total += (usage["prompt_tokens"] * read + usage["completion_tokens"] * written) / 1e6
    return total


class Drivers:
    """Runs commands in processes of their own, one at a time."""

    def __init__(self, folder: Path) -> None:
        environ = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # a process with threads must not fork
        command = [sys.executable, "-m", "tests.runs.warm_driver"]
        self._process = subprocess.Popen(
            command, cwd=ROOT, env=environ, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._folder = folder

    def start(self, *argv: object, kill: tuple[int, str] | None = None) -> int:
        """Start a command and return its process id; `kill` names the commit at which it kills itself."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        out, err = (str(self._folder / name) for name in ("out", "err"))
        wish = {"argv": [str(word) for word in argv], "out": out, "err": err, "kill": kill}
        self._process.stdin.write(json.dumps(wish) + "\n")
        self._process.stdin.flush()
        return int(json.loads(self._process.stdout.readline()))

    def end(self) -> Ended:
        """Wait for the command's end."""
        assert self._process.stdout is not None
        status = int(json.loads(self._process.stdout.readline()))
        return Ended(
            os.waitstatus_to_exitcode(status), *((self._folder / name).read_text("utf-8") for name in ("out", "err"))
        )

    def do(self, *argv: object, kill: tuple[int, str] | None = None) -> Ended:
        """Run a command to its end."""
        self.start(*argv, kill=kill)
        return self.end()

    def do_for(self, seconds: float, *argv: object) -> Ended:
        """Run a command and kill it with SIGKILL after `seconds`, unless it has ended."""
        child = self.start(*argv)
        time.sleep(seconds)
        with suppress_gone():
            os.kill(child, signal.SIGKILL)
        return self.end()

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(30)


@contextmanager
def suppress_gone() -> Iterator[None]:
    """Let a process be gone already: its parent has not waited for it, or it has."""
    try:
        yield
    except ProcessLookupError:
        return


@dataclass(frozen=True)
class Ended:
    """A command that ended: minus the signal where one killed it."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        assert self.status >= 0, self.err
        data: dict[str, Any] = json.loads(self.out)
        return data


@dataclass(frozen=True)
class Told:
    """All that is compared of a run that has ended."""

    report: dict[str, Any]
    store: dict[str, Any]
    asked: Counter[str]
    scored: Counter[str]

    @property
    def essence(self) -> dict[str, Any]:
        """The report without what a clock measured and what a request in flight at a kill adds to it."""
        return essence(self.report)


def told(folder: Path, server: ModelServer) -> Told:
    """Gather what one run left behind; the only run of its folder."""
    with open_store(folder, create=False) as store:
        (row,) = store.runs()
        report = json.loads((store.folder / "runs" / row.id / "report.json").read_text("utf-8"))
        versions = [(item["id"], item["parent"], item["number"]) for item in store.rows(row.id, schema.versions)]
        ended = {
            (item["version"], item["case_id"], item["split"]): item["score"]
            for item in store.rows(row.id, schema.evaluations)
            if item["ended_at"] is not None
        }
        kept = {
            (item["kind"], item["version"], item["key"])
            for item in store.rows(row.id, schema.events)
            if item["kind"] in ("proposed", "accepted", "rejected", "lane")
        }
    log = next(path for path in (folder / "calls.log", folder / "scored.txt") if path.exists())
    scored = Counter(log.read_text("utf-8").splitlines())
    return Told(report, {"versions": versions, "scores": ended, "events": kept}, asked(server), scored)


def asked(server: ModelServer) -> Counter[str]:
    """Count the requests at the server by what they say."""
    return Counter(json.dumps(request.body, sort_keys=True) for request in server.requests)


TIMES = ("run", "started_at", "ended_at", "seconds", "time", "budget", "ledger", "curve")


def essence(report: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in report.items() if name not in TIMES}
    kept["versions"] = [{**item, "at_call": None, "val_at_call": None} for item in report["versions"]]
    kept["last_rejections"] = [{**item, "at_call": None} for item in report["last_rejections"]]
    kept["cases"] = [
        {**row, **{side: _timeless(row[side]) for side in ("start", "best")}} for row in report["cases"]
    ]
    kept["notes"] = [note for note in report["notes"] if not note.startswith("Paid again")]
    kept["curve"] = [point["best_val"] for point in report["curve"]]
    return kept


def _timeless(side: dict[str, Any] | None) -> dict[str, Any] | None:
    return None if side is None else {**side, "elapsed_ms": None}


def in_flight(folder: Path) -> Counter[str]:
    """Count what the store holds as begun without an end: evaluations and model calls."""
    with open_store(folder, create=False) as store:
        (row,) = store.runs()
        return Counter(
            table.name
            for table in (schema.evaluations, schema.model_calls)
            for item in store.rows(row.id, table)
            if item["ended_at"] is None
        )


def without_end(folder: Path) -> int:
    """Count the evaluations and model calls that were begun, once or more often, and never ended."""
    with open_store(folder, create=False) as store:
        (row,) = store.runs()
        tables = [list(store.rows(row.id, table)) for table in (schema.evaluations, schema.model_calls)]
    ended = [{item["key"] for item in rows if item["ended_at"] is not None} for rows in tables]
    return sum(len({item["key"] for item in rows} - known) for rows, known in zip(tables, ended, strict=True))


def run_ids(folder: Path) -> list[str]:
    """Return the ids of the folder's runs, newest first; none where it has no store yet."""
    if not (folder / ".skynet" / "skynet.db").exists():
        return []
    with open_store(folder, create=False) as store:
        return [row.id for row in store.runs()]
