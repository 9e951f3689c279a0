"""Two tasks: hidden rules that feedback names one by one, and sentiment that demonstrations teach."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from engines.chat import split_turns
from skynet.engine import Artifact, Content, Evaluation, Kind, LabelledCase, SearchTask, TaskCase, Version

from .host import make_cases

RULES = ("greet first", "name the order", "give a date", "stay polite", "sign with a name")


def needed(number: int) -> list[str]:
    """The rules that a case needs: two or three of them, by its number."""
    return [rule for index, rule in enumerate(RULES) if (number + index) % len(RULES) < 2 + number % 2]


def rules_task(start: Content = "Answer the letter.", train: int = 12, val: int = 10, **changes: Any) -> SearchTask:
    """The task; `changes` are fields of SearchTask."""
    kind: Kind = "parts" if isinstance(start, dict) else "text"
    task = SearchTask(
        kind=kind,
        target="chat",
        start=Version(Artifact(kind, start)),
        objective="Write answers that follow every rule.",
        background="The rules are not written down.",
        train=make_cases("t", train, letter=lambda number: f"letter {number}", needs=needed),
        val=make_cases("v", val, letter=lambda number: f"other letter {number}", needs=needed),
        seed=0,
        maximum=1.0,
    )
    return replace(task, **changes)


def score_rules(content: Content, case: TaskCase) -> Evaluation:
    """The share of the needed rules that stand in the content; the feedback names the first that is missing."""
    text = content if isinstance(content, str) else "\n".join(content.values())
    rules = case.input["needs"]
    missing = [rule for rule in rules if rule not in text]
    score = 1 - len(missing) / len(rules)
    return Evaluation(
        version=Artifact("text", text).id,
        case=case.id,
        repetition=0,
        split="train" if case.id.startswith("t") else "val",
        status="ok",
        value=score,
        score=score,
        output=f"answer to {case.input['letter']}",
        feedback=f"Missing rule: {missing[0]}." if missing else "All good.",
        scores={"rules": score, "brevity": 1 / (1 + len(text))},
        side_info={"expected": "SECRET", "hint": f"{len(missing)} missing"},
    )


def add_rule(prompt: str, number: int) -> str:
    """A reply that takes the text as it is now and adds the rules that the feedback names."""
    match = re.search(r"# The text as it is now\n(`{3,})\n(.*?)\n\1", prompt, re.DOTALL)
    assert match, "the prompt does not show the text"
    named = dict.fromkeys(re.findall(r"Missing rule: ([^.]*)\.", prompt))
    added = "\n".join(f"- {rule}" for rule in named if rule not in match[2])
    return f"I add what was missing.\n{match[1]}\n{match[2]}\n{added}\n{match[1]}\nThat should do."


LABELS = ("good", "bad", "mixed")


def label(number: int) -> str:
    """The label of the row with this number."""
    return LABELS[number * 7 % 11 % len(LABELS)]


def labelled_task(start: str = "Label the review.", train: int = 24, val: int = 20, **changes: Any) -> SearchTask:
    """Reviews with labels, for a chat target; `changes` are fields of SearchTask."""
    cases = make_cases("t", train, review=lambda number: f"review {number} sounds {label(number)}")
    task = SearchTask(
        kind="text",
        target="chat",
        start=Version(Artifact("text", start)),
        objective="",
        background="",
        train=cases,
        val=make_cases("v", val, review=lambda number: f"unseen {number} sounds {label(number)}"),
        seed=0,
        maximum=1.0,
        labelled_train=tuple(
            LabelledCase(case.id, case.input, {"label": label(number)}) for number, case in enumerate(cases)
        ),
        output_column="label",
    )
    return replace(task, **changes)


def score_sentiment(content: Content, case: TaskCase) -> Evaluation:
    """A stand-in for a weak model: it knows a label once a turn has shown it; without any it is right on mixed rows.

    A label that the last demonstration shows is overrated, so that the order matters: its rows with odd numbers fail.
    """
    turns = split_turns(str(content))
    shown = [turn.text for turn in turns if turn.role == "assistant"]
    truth = case.input["review"].rsplit(" ", 1)[1]
    right = truth in shown if shown else truth == "mixed"
    if shown and truth == shown[-1] and int(case.id[1:]) % 2:
        right = shown.count(truth) > 1
    return Evaluation(
        version=Artifact("text", content).id,
        case=case.id,
        repetition=0,
        split="train" if case.id.startswith("t") else "val",
        status="ok",
        value=float(right),
        score=float(right),
        output=truth if right else "I think that it sounds nice.",
    )
