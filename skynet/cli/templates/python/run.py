"""Routes a message with the table in `artifact`. No model is called, so every run is free and the same."""

import re


def read_table(text):
    table = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        team, colon, words = line.partition(":")
        if not colon:
            raise ValueError(f"line {number} of the table has no colon: {line!r}; write `team: word, word`")
        table.append((team.strip(), [word.strip().lower() for word in words.split(",") if word.strip()]))
    if not table:
        raise ValueError("the table is empty; write one `team: word, word` a line")
    return table


def run(artifact, input):
    table = read_table(artifact)
    message = input["message"].lower()
    for team, words in table:
        if any(re.search(rf"\b{re.escape(word)}\b", message) for word in words):
            return team
    return table[-1][0]
