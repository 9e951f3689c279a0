import re


def score(input, output, expected=None):
    said, wanted = output.lower(), expected["must_say"].split("; ")
    missing = [words for words in wanted if not any(word in said for word in words.split("|"))]
    sentences = len(re.findall(r"[.!?](?:\s|$)", output))
    scores = {"complete": 1.0 if not missing else 0.0, "short": 1.0 if sentences <= 3 else 0.0}
    remarks = [f"It does not say: {words.replace('|', ' or ')}." for words in missing]
    if sentences > 3:
        remarks.append(f"It has {sentences} sentences; three are allowed.")
    return sum(scores.values()) / 2, {"feedback": " ".join(remarks) or "Complete and short.", "scores": scores}
