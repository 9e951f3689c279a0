def score(input, output, expected=None):
    want = expected["team"]
    if output == want:
        return 1.0, {"feedback": f"Correct: {want}."}
    return 0.0, {"feedback": f"Expected {want!r}, got {output!r}. The message was: {input['message']}"}
