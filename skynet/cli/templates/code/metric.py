def score(input, output, expected=None):
    want = expected["cents"]
    if output == want:
        return 1.0, {"feedback": f"Right: {want} cents."}
    return 0.0, {"feedback": f"{input['text']!r} is {want} cents; the code returned {output!r}."}
