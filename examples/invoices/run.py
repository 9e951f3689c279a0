"""Reads an invoice by the rules in `artifact`. No model is called, so every run is free and the same."""

import re
from datetime import datetime

NUMBER = re.compile(r"\d[\d ,.]*")


def read_rules(text):
    formats, phrases = [], []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("date "):
            formats.append(line.removeprefix("date ").split())
        elif line.startswith("total after "):
            phrases.append(line.removeprefix("total after ").strip().lower())
        elif line.strip():
            raise ValueError(f"line {number} is no rule: {line!r}; write `date FORMAT` or `total after PHRASE`")
    return formats, phrases


def find_date(words, formats):
    for layout in formats:
        for start in range(len(words) - len(layout) + 1):
            candidate = " ".join(words[start : start + len(layout)]).strip(".,;:()")
            try:
                return datetime.strptime(candidate, " ".join(layout)).date().isoformat()
            except ValueError:
                continue
    return None


def find_total(text, phrases):
    for phrase in phrases:
        _, found, rest = text.lower().partition(phrase)
        number = NUMBER.search(rest)
        if found and number:
            return to_amount(number.group().strip(" .,"))
    return None


def to_amount(number):
    """The last point or comma is the decimal sign when one or two digits stand behind it."""
    whole, sign, fraction = re.fullmatch(r"(.*?)(?:([.,])(\d{1,2}))?", number).groups()
    digits = re.sub(r"\D", "", whole)
    return float(f"{digits}.{fraction}" if sign else digits)


def run(artifact, input):
    formats, phrases = read_rules(artifact)
    return {"date": find_date(input["text"].split(), formats), "total": find_total(input["text"], phrases)}
