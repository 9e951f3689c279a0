LABELS = ("good", "bad")


def score(input, output, expected=None):
    label = expected["label"]
    reply = output.strip()
    if reply == label:
        return 1.0, {"feedback": f"Right: {label}."}
    if reply in LABELS:
        return 0.0, {"feedback": f"Wrong: the reply is {reply}, the customer found it {label}."}
    named = [word for word in LABELS if word in reply.lower()]
    hint = f"It says {' and '.join(named)}, but must be the bare label." if named else "It names no label."
    return 0.0, {"feedback": f"The reply must be exactly {label!r}, and is {reply!r}. {hint}"}
