"""Rule following: each case needs a few hidden rules, and the feedback names one that the text lacks."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace

from skynet.engine import Artifact, Content, Evaluation, TaskCase
from tests.engines.host import make_cases
from tests.engines.rules import add_rule, rules_task

from .bench import Instance, chance

TOPICS = (
    "greeting", "order number", "date", "refund", "address", "tone", "signature", "price", "delay", "thanks",
    "warranty", "contact", "language", "length", "apology", "invoice",
)  # fmt: skip
RULES = tuple(f"mention the {topic}" for topic in TOPICS)
DECOYS = tuple(f"never mention the {topic}" for topic in ("weather", "staff", "office", "website", "holiday", "shop"))
NEEDED = 4  # rules that one case needs
DECOY_COST = 0.15  # of the score, for each decoy that stands in the text


@dataclass(frozen=True)
class Flaws:
    """What is wrong with the metric: the share of feedback that names a decoy, and the width of the noise."""

    wrong_feedback: float = 0.0
    noise: float = 0.0


def rule_following(seed: int, flaws: Flaws) -> Instance:
    """Draw the task: which rules each case needs follows from the seed."""
    draw = random.Random(seed)

    def needs(_: int) -> list[str]:
        return draw.sample(RULES, NEEDED)

    train, val, held_out = (make_cases(prefix, 30, letter=str, needs=needs) for prefix in ("t", "v", "x"))
    return Instance(
        task=replace(rules_task(), target="python", train=train, val=val, seed=seed),
        score=lambda content, case: _evaluation(content, case, seed, flaws),
        reply=add_rule,
        truth=lambda content: math.fsum(_share(content, case) for case in held_out) / len(held_out),
    )


def _share(content: Content, case: TaskCase) -> float:
    text = str(content)
    found = sum(f"- {rule}" in text for rule in case.input["needs"])
    decoys = sum(f"- {decoy}" in text for decoy in DECOYS)
    return max(0.0, found / NEEDED - DECOY_COST * decoys)


def _evaluation(content: Content, case: TaskCase, seed: int, flaws: Flaws) -> Evaluation:
    version = Artifact("text", content).id
    score = _share(content, case)
    if flaws.noise:
        score = min(1.0, max(0.0, score + flaws.noise * (2 * chance("noise", seed, version, case.id) - 1)))
    missing = [rule for rule in case.input["needs"] if f"- {rule}" not in str(content)]
    if chance("wrong", seed, version, case.id) < flaws.wrong_feedback:
        missing = [DECOYS[int(chance("decoy", seed, version, case.id) * len(DECOYS))]]
    return Evaluation(
        version=version,
        case=case.id,
        repetition=0,
        split="train" if case.id.startswith("t") else "val",
        status="ok",
        value=score,
        score=score,
        output="an answer",
        feedback=f"Missing rule: {missing[0]}." if missing else "All good.",
    )
