"""Function repair: a parser of durations with six faults, mended by a library of patches, some of them wrong."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from skynet.engine import Artifact, Content, Evaluation, SearchTask, TaskCase, Version

from .bench import Instance, chance

BROKEN = '''\
import re

UNITS = {"s": 1, "m": 60, "h": 360, "d": 86400}


def run(input):
    text = input["text"]
    total = 0
    for number, unit in re.findall(r"([0-9]+)([a-z])", text):
        total = int(number) * UNITS[unit]
    return total
'''


@dataclass(frozen=True)
class Patch:
    """An edit of the library: it is thought of where a case's text shows the symptom."""

    symptom: str
    search: str
    replace: str


# Right ones first, then ones that look as well and are not. A patch whose passage is gone is not thought of.
PATCHES = (
    Patch(r"[0-9]h", '"h": 360,', '"h": 3600,'),
    Patch(r"[a-z].*[0-9][a-z]", "total = int(number)", "total += int(number)"),
    Patch(r"[A-Z]", 'input["text"]', 'input["text"].lower()'),
    Patch(r"[0-9] [a-zA-Z]", 'r"([0-9]+)([a-z])"', 'r"([0-9]+)\\s*([a-z])"'),
    Patch(r"[wW]", '"d": 86400}', '"d": 86400, "w": 604800}'),
    Patch(r"^'?-", "    return total", '    return -total if text.startswith("-") else total'),
    Patch(r"[0-9]h", '"m": 60,', '"m": 3600,'),
    Patch(r"[a-z].*[0-9][a-z]", "    return total", "    return max(total, 60)"),
    Patch(r"[A-Z]", 'input["text"]', 'input["text"].upper()'),
    Patch(r"[0-9] [a-zA-Z]", "UNITS[unit]", "UNITS[unit] * 10"),
    Patch(r"^'?-", "total = 0", "total = -1"),
    Patch(r".", "import re\n", "import re as regex\n"),
)
SECTIONS = ("The text as it is now", "What came of it", "Tried already and not taken")  # of a request
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def function_repair(seed: int) -> Instance:
    """Draw the task: which durations stand in train, in val and among the held-out cases follows from the seed."""
    draw = random.Random(seed)
    train, val, held_out = (_cases(prefix, 24, draw) for prefix in ("t", "v", "x"))
    task = SearchTask(
        kind="code",
        target="code",
        start=Version(Artifact("code", BROKEN)),
        objective="Return the duration in seconds.",
        background="",
        train=train,
        val=val,
        seed=seed,
        maximum=1.0,
        check=_check,
    )
    return Instance(
        task=task,
        score=_evaluation,
        reply=lambda prompt, number: mend(prompt, number, seed),
        truth=lambda content: math.fsum(_evaluation(content, case).value for case in held_out) / len(held_out),
    )


def _cases(prefix: str, count: int, draw: random.Random) -> tuple[TaskCase, ...]:
    return tuple(TaskCase(f"{prefix}{number}", {"text": _duration(draw)}) for number in range(count))


def _duration(draw: random.Random) -> str:
    """A duration that shows one of the faults, now and then two."""
    traits = set(draw.sample(("hours", "parts", "capitals", "space", "weeks", "minus"), draw.choice((1, 1, 1, 2))))
    units = ["h"] if "hours" in traits else ["w"] if "weeks" in traits else [draw.choice("smd")]
    if "parts" in traits:
        units = [unit for unit in "dms" if unit not in units][:2] + units
    gap = " " if "space" in traits else ""
    text = " ".join(f"{draw.randint(1, 59)}{gap}{unit}" for unit in units)
    return ("-" if "minus" in traits else "") + (text.upper() if "capitals" in traits else text)


def _expected(text: str) -> int:
    parts = re.findall(r"([0-9]+)\s*([a-z])", text.lower())
    total = sum(int(number) * SECONDS[unit] for number, unit in parts)
    return -total if text.startswith("-") else total


def _check(content: Content) -> str | None:
    try:
        compile(str(content), "candidate.py", "exec")
    except SyntaxError as error:
        return f"line {error.lineno}: {error.msg}"
    return None


@cache
def _function(source: str) -> Callable[[dict[str, str]], int]:
    """The function of a source; every source is the start with patches of this file, so it is safe to run here."""
    space: dict[str, Any] = {}
    exec(compile(source, "candidate.py", "exec"), space)
    return cast(Callable[[dict[str, str]], int], space["run"])


def _evaluation(content: Content, case: TaskCase) -> Evaluation:
    text, failed, got = case.input["text"], "", 0
    try:
        got = _function(str(content))({"text": text})
    except (KeyError, NameError) as error:
        failed = f"{type(error).__name__}: {error}"
    score = 0.0 if failed else float(got == _expected(text))
    return Evaluation(
        version=Artifact("code", content).id,
        case=case.id,
        repetition=0,
        split="train" if case.id.startswith("t") else "val",
        status="failed" if failed else "ok",
        failure="target" if failed else None,
        value=score,
        score=None if failed else score,
        output=None if failed else got,
        feedback=failed or ("Right." if score else f"Wrong for {text!r}: it is {_expected(text)} seconds, not {got}."),
        error=failed or None,
    )


def _section(prompt: str, title: str) -> str:
    """Return what stands under a heading, without the line of a fence before it and after it."""
    _, _, found = prompt.partition(f"# {title}\n")
    return re.sub(r"\A```\n|\n```\Z", "", found.split("\n\n# ", 1)[0])


def mend(prompt: str, number: int, seed: int) -> str:
    """A reply with one edit: a patch whose passage stands in the code, whose symptom a case that went wrong shows, and
    whose outcome is not among what was tried."""
    code, records, tried = (_section(prompt, title) for title in SECTIONS)
    cases = [part for part in records.split("## Case ")[1:] if "Right." not in part]
    shown = [match[1] for part in cases if (match := re.search(r"- text: (.*)", part))]
    fitting = [
        patch
        for patch in PATCHES
        if code.count(patch.search) == 1
        and patch.replace not in code
        and code.replace(patch.search, patch.replace) not in tried
        and any(re.search(patch.symptom, text) for text in shown)
    ]
    if not fitting:
        return "I see nothing to mend."
    patch = fitting[int(chance("patch", seed, number) * len(fitting))]
    return f"<<<<<<< SEARCH\n{patch.search}\n=======\n{patch.replace}\n>>>>>>> REPLACE"
