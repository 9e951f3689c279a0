def score(input, output, expected=None):
    want = expected["seconds"]
    if isinstance(output, bool) or not isinstance(output, int | float):
        return 0.0, {"feedback": f"For {input['text']!r} the code returned {output!r}, which is no number of seconds."}
    if abs(output - want) < 1e-9:
        return 1.0, {"feedback": f"Right: {input['text']!r} is {want} seconds."}
    return 0.0, {"feedback": f"{input['text']!r} is {want} seconds; the code returned {output}."}
