"""Finds the product that a typed name means, by the rules in `artifact`. Comparing fewer products is faster."""

import csv
from difflib import SequenceMatcher
from pathlib import Path

with Path("catalogue.csv").open(encoding="utf-8", newline="") as file:
    CATALOGUE = [(row["sku"], row["name"].lower()) for row in csv.DictReader(file)]


def read_rules(text):
    shortlist, replacements = len(CATALOGUE), {}
    for number, line in enumerate(text.splitlines(), start=1):
        word, equals, words = line.partition("=")
        if equals:
            replacements[word.strip().lower()] = words.strip().lower()
        elif line.startswith("shortlist ") and line.removeprefix("shortlist ").strip().isdigit():
            shortlist = max(1, int(line.removeprefix("shortlist ")))
        elif line.strip():
            raise ValueError(f"line {number} is no rule: {line!r}; write `shortlist N` or `word = words`")
    return shortlist, replacements


def run(artifact, input):
    shortlist, replacements = read_rules(artifact)
    typed = " ".join(replacements.get(word, word) for word in input["typed"].lower().split())
    words = set(typed.split())
    candidates = sorted(CATALOGUE, key=lambda product: -len(words & set(product[1].split())))[:shortlist]
    sku, _ = max(candidates, key=lambda product: SequenceMatcher(None, typed, product[1]).ratio())
    return sku
