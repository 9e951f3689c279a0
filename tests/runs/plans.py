"""Projects whose artifact is a plan: what the target returns for each case, which the metric takes as the score.

A plan names a number, or a word for what goes wrong: in the target `raise`, `hang`, `die`; in the metric
`metric raises`, `metric returns text`, `unmeasured`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from skynet.data.dataset import load_dataset, sample_cases
from skynet.runs.result import RunResult
from skynet.runs.session import Given, run_project
from skynet.spec import Spec, load_spec

METRIC = '''
import skynet

def score(input, output, expected=None):
    with open("scored.txt", "a") as file:
        file.write(input["text"] + "\\n")
    if output == "metric raises":
        raise RuntimeError("no luck")
    if output == "metric returns text":
        return "good"
    if output == "unmeasured":
        return skynet.unmeasured("no reading")
    return output, {"feedback": f"{input['text']} scored {output}", "scores": {"half": output / 2}}
'''
RUN = '''
import json, os, time

def run(artifact, input):
    plan = json.loads(artifact)
    with open("ran.txt", "a") as file:
        file.write(f"{plan['name']} {input['text']}\\n")
    value = plan["cases"].get(input["text"], plan["else"])
    if value == "raise":
        raise ValueError("no output for " + input["text"])
    if value == "hang":
        time.sleep(3600)
    if value == "die":
        os._exit(3)
    if isinstance(value, dict):  # a value for the first time that this case runs, another afterwards
        try:
            open(input["text"] + ".seen", "x").close()
            value = value["first"]
        except FileExistsError:
            value = value["later"]
    return value
'''
SPEC = """
name = "plans"
objective = "Score high."
[artifact]
path = "start.json"
[target]
kind = "python"
path = "run.py"
timeout = 20
[metric]
timeout = 20
{metric}
[data]
path = "rows.jsonl"
inputs = ["text"]
outputs = ["label"]
split = {{ column = "part" }}
[evaluation]
concurrency = 2
repeats = {repeats}
[budget]
{budget}
[engine]
{engine}
{more}
"""


def plan(name: str, default: Any = 0.5, **cases: Any) -> str:
    """Return an artifact that returns `cases[case]`, or the default."""
    return json.dumps({"name": name, "else": default, "cases": cases})


def rows(train: int = 2, val: int = 3, test: int = 3) -> list[dict[str, Any]]:
    """Return rows whose text is `train0`, `val0`, `test0` and so on."""
    sizes = {"train": train, "val": val, "test": test}
    places = [(part, number) for part, size in sizes.items() for number in range(size)]
    return [{"text": f"{part}{number}", "label": 1.0, "part": part} for part, number in places]


def write_plans(
    folder: Path,
    start: str | None = None,
    *texts: str,
    data: list[dict[str, Any]] | None = None,
    budget: str = "metric_calls = 100",
    repeats: int = 1,
    engine: str | None = None,
    metric: str = "",
    more: str = "",
) -> Path:
    """Write a project; the scripted engine puts `texts` forward."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "metric.py").write_text(METRIC, encoding="utf-8")
    (folder / "run.py").write_text(RUN, encoding="utf-8")
    (folder / "start.json").write_text(plan("start") if start is None else start, encoding="utf-8")
    lines = [json.dumps(row) for row in (rows() if data is None else data)]
    (folder / "rows.jsonl").write_text("\n".join(lines), encoding="utf-8")
    told = f'name = "scripted"\ntexts = {json.dumps(texts)}' if engine is None else engine
    spec = SPEC.format(budget=budget, repeats=repeats, engine=told, metric=metric, more=more)
    (folder / "skynet.toml").write_text(spec, encoding="utf-8")
    return folder


def spec_of(folder: Path, given: Mapping[str, Any] | None = None) -> Spec:
    return load_spec(folder, given)


def drive(folder: Path, given: Mapping[str, Any] | None = None) -> RunResult:
    """Run the project, whatever its outlook."""
    return run_project(load_spec(folder, given), Given(accept=True))


def ran(folder: Path) -> list[tuple[str, str]]:
    """Return plan and case of every run of the target, in order."""
    lines = (folder / "ran.txt").read_text(encoding="utf-8").splitlines()
    return [(name, case) for name, case in (line.split() for line in lines)]


def scored(folder: Path) -> list[str]:
    """Return the case of every `score()`, in order."""
    return (folder / "scored.txt").read_text(encoding="utf-8").splitlines()


def cases_of(result: RunResult, split: str, side: str) -> dict[str, Any]:
    """Return one side of the report's table of cases, by the input's text."""
    return {row["input"]["text"]: row[side] for row in result.data["cases"] if row["split"] == split}


def seed_that_samples_train(folder: Path) -> int:
    """Return a seed with which the check takes its samples from train alone."""
    spec = load_spec(folder)
    dataset = load_dataset(spec.data, spec.root)
    train = {case.id for case in dataset.train}
    return next(seed for seed in range(2_000) if {case.id for case in sample_cases(dataset, 3, seed)} <= train)
