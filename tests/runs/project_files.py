"""A small project whose reflection model is scripted by what it reads: the same run every time, however it is cut."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

WORDS = ("alpha", "bravo", "charlie", "delta", "echo", "foxtrot")

METRIC = '''
import os

def score(input, output, expected=None):
    log = os.path.join(os.path.dirname(__file__), "calls.log")
    with open(log, "a") as file:
        file.write(input["word"] + "\\n")
    if input["word"] in output:
        return 1.0, {"feedback": "Complete."}
    return 0.0, {"feedback": f"Add the word {input['word']}."}
'''

RUN = '''
import time

def run(artifact, input):
    time.sleep(DELAY)
    return artifact
'''

SPEC = '''
name = "words"
objective = "Write a text that holds every word."
engine = ENGINE

[artifact]
path = "start.txt"

[target]
kind = "python"
path = "run.py"

[metric]
path = "metric.py"

[data]
path = "words.csv"
inputs = ["word"]
outputs = ["word_again"]
split = { column = "split" }

[models]
reflection = { name = "scripted", base_url = "URL", price = { input = 1.0, output = 2.0 } }

[budget]
metric_calls = BUDGET

[evaluation]
concurrency = 4
'''


def write_words_project(
    folder: Path,
    url: str,
    *,
    engine: str = '{ name = "gepa", max_proposals = 5 }',
    budget: int = 400,
    delay: float = 0.01,
) -> Path:
    """Write the project into `folder` (made if need be); its reflection model is at `url`."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = ["word,word_again,split"]
    for split in ("train", "val", "test"):
        rows += [f"{word},{word},{split}" for word in WORDS]
    files = {
        "start.txt": "A text.\n",
        "metric.py": METRIC,
        "run.py": RUN.replace("DELAY", str(delay)),
        "words.csv": "\n".join(rows) + "\n",
        "skynet.toml": SPEC.replace("URL", url).replace("ENGINE", engine).replace("BUDGET", str(budget)),
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def add_missing_word(request: Mapping[str, Any]) -> str:
    """Reply to a reflection request with the current text and one word that its feedback asks for."""
    prompt = request["messages"][-1]["content"]
    missing = sorted(set(re.findall(r"Add the word (\w+)", prompt)))
    current = re.search(r"A text\.[a-z. ]*", prompt)
    text = current.group(0).strip() if current else "A text."
    new = next((word for word in missing if word not in text), "")
    return f"```\n{text} {new}.\n```"
