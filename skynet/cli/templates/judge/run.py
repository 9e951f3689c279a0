"""Answers a question with the section of the help page in `artifact` that shares most words with it."""

import re


def read_sections(page):
    sections = [part.strip() for part in re.split(r"(?m)^##\s", page) if part.strip()]
    if not sections:
        raise ValueError("the help page is empty; start each section with a line `## topic`")
    return sections


def words(text):
    return {word for word in re.findall(r"\w+", text.lower()) if len(word) > 3}


def run(artifact, input):
    question = words(input["question"])
    return max(read_sections(artifact), key=lambda section: len(question & words(section)))
