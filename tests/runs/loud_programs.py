"""The loud project with a DSPy program in the place of the prompt, for all optimizers and what else works on one."""

from __future__ import annotations

import random
import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engines.dspy_options import LABELS_NEEDED, OPTIMIZERS
from tests.engines.programs import filled
from tests.runs.cut_runs import EASY, MANY, write_loud_project

PROGRAM = '[artifact]\nkind = "dspy"\npath = "program.py"'
SOURCE = {"program.py": 'import dspy\nprogram = dspy.Predict(dspy.Signature("word -> loud", "Say it loud."))\n'}
MAX_TOKENS = 90  # what a proposer writes goes into several fields
PROGRAM_ENGINES = {
    **{
        f"dspy {name}": f'{{ name = "dspy", optimizer = "{name}", labels = {str(name in LABELS_NEEDED).lower()} }}'
        for name in OPTIMIZERS
    },
    "auto of a program": '"auto"',
}


def write_loud_program(folder: Path, url: str, engine: str, **changes: Any) -> Path:
    """Write the project into `folder`; `changes` are those of write_loud_project."""
    return write_loud_project(folder, url, engine, artifact=PROGRAM, source=SOURCE, max_tokens=MAX_TOKENS, **changes)


def program_answer(request: Mapping[str, Any]) -> str:
    """Reply in dspy's format as the task or the reflection model would: by what the request says and nothing else."""
    text = "\n".join(str(turn["content"]) for turn in request["messages"])
    if request["model"] == "task":
        word = re.findall(r"\[\[ ## word ## \]\]\s+(\w+)", str(request["messages"][-1]["content"]))[-1]
        shown = " ".join(str(turn["content"]).lower() for turn in request["messages"][:-1])
        return filled(text, word.upper() if word in EASY or word in shown else "?")
    told = sorted(set(re.findall(r"Add the word (\w+)", text)))
    words = told or random.Random(zlib.crc32(text.encode())).sample(MANY, 3)
    return filled(text, f"Say it loud. {' '.join(words)}")
