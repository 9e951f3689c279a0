def score(input, output, expected=None):
    scores, notes = {}, []
    for field, want in expected.items():
        got = output.get(field)
        scores[field] = 1.0 if got == want else 0.0
        if got != want:
            notes.append(f"{field}: expected {want!r}, got {got!r}.")
    feedback = " ".join([*notes, f"The text was: {input['text']}"]) if notes else "Date and total are right."
    return sum(scores.values()) / len(scores), {"feedback": feedback, "scores": scores}
